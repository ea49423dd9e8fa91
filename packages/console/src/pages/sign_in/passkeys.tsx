import { useState } from "preact/hooks";
import type { Passkey, TwoFactor } from "tenantry-client";
import { listOf, useLoad } from "../../load.ts";
import { api } from "../../session.ts";
import { Button, SecondaryButton, SmallButton } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Show, say } from "../../ui/feedback.tsx";
import { Field, Form, text } from "../../ui/form.tsx";
import { Section } from "../../ui/page.tsx";
import { type Proof, ProofDialog } from "../../ui/proof.tsx";
import { buttons, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/values.tsx";
import { hasPasskeys, makePasskey } from "../../ui/webauthn.ts";
import { RecoveryCodes } from "./recovery_codes.tsx";

const ME = { user: "@me" } as const;

/** The open dialog. Each use of a passkey follows a click, as browsers require. */
type Open =
	| { kind: "name" }
	| { kind: "prove"; name: string }
	| { kind: "make"; name: string; proof: Proof }
	| { kind: "codes"; codes: readonly string[] }
	| { kind: "rename" | "remove"; passkey: Passkey };

const NameForm = ({
	action,
	name,
	onName,
	onCancel,
}: {
	action: string;
	name?: string;
	onName: (name: string) => Promise<unknown>;
	onCancel: () => void;
}) => (
	<Form action={action} onSubmit={(fields) => onName(text(fields, "name"))} onCancel={onCancel}>
		<Field
			name="name"
			label="Name"
			required
			maxLength={100}
			defaultValue={name}
			hint="By which you recognize it, such as the device."
		/>
	</Form>
);

/** A browser makes a passkey only after a click. */
const MakeDialog = ({
	name,
	onMake,
	onClose,
}: {
	name: string;
	onMake: () => Promise<void>;
	onClose: () => void;
}) => (
	<Dialog title="Add a passkey" onClose={onClose}>
		<p>Your browser now asks where to keep “{name}”.</p>
		<div class="buttons">
			<SecondaryButton onPress={onClose}>Cancel</SecondaryButton>
			<Button onPress={onMake}>Make the passkey</Button>
		</div>
	</Dialog>
);

const RenameDialog = ({ passkey, onClose }: { passkey: Passkey; onClose: () => void }) => (
	<Dialog title={`Rename “${passkey.name}”`} onClose={onClose}>
		<NameForm
			action="Save"
			name={passkey.name}
			onName={async (name) => {
				await api.passkeys.update({ ...ME, id: passkey.id }, { name });
				say(`“${name}” is saved.`);
				onClose();
			}}
			onCancel={onClose}
		/>
	</Dialog>
);

function Opened({
	open,
	factor,
	onOpen,
	onClose,
}: {
	open: Open;
	factor: TwoFactor;
	onOpen: (open: Open) => void;
	onClose: () => void;
}) {
	async function make(name: string, proof: Proof) {
		const credential = await makePasskey(await api.passkeys.begin(ME));
		const { recovery_codes } = await api.passkeys.create(ME, { name, credential, ...proof });
		if (recovery_codes) return onOpen({ kind: "codes", codes: recovery_codes });
		say(`“${name}” is added.`);
		onClose();
	}
	const { passkeys } = factor;
	switch (open.kind) {
		case "name":
			return (
				<Dialog title="Add a passkey" onClose={onClose}>
					<NameForm
						action="Continue"
						onName={async (name) =>
							factor.is_enabled ? onOpen({ kind: "prove", name }) : make(name, {})
						}
						onCancel={onClose}
					/>
				</Dialog>
			);
		case "prove":
			return (
				<ProofDialog
					title="Add a passkey"
					words="Prove that it is you, with a factor that you already have."
					action="Continue"
					passkeys={passkeys}
					onProof={async (proof) => onOpen({ kind: "make", name: open.name, proof })}
					onClose={onClose}
				/>
			);
		case "make":
			return (
				<MakeDialog name={open.name} onMake={() => make(open.name, open.proof)} onClose={onClose} />
			);
		case "codes":
			return (
				<Dialog title="Your recovery codes" onClose={onClose}>
					<RecoveryCodes codes={open.codes} action="I have saved them" onDone={onClose} />
				</Dialog>
			);
		case "rename":
			return <RenameDialog passkey={open.passkey} onClose={onClose} />;
		case "remove":
			return (
				<ProofDialog
					title={`Remove “${open.passkey.name}”?`}
					words="It no longer signs in to your account. Your other sessions end. Also delete it on your device."
					action="Remove"
					isDangerous
					passkeys={passkeys}
					onProof={async (proof) => {
						await api.passkeys.remove({ ...ME, id: open.passkey.id }, proof);
						say(`“${open.passkey.name}” is removed.`);
						onClose();
					}}
					onClose={onClose}
				/>
			);
	}
}

/** The passkeys of the user (docs/keys.md#passkeys). */
export function Passkeys({ factor, onChange }: { factor: TwoFactor; onChange: () => unknown }) {
	const loaded = useLoad((signal) => api.passkeys.list(ME, { signal }), []);
	const [open, setOpen] = useState<Open>();
	const add = hasPasskeys() && (
		<SecondaryButton onPress={() => setOpen({ kind: "name" })}>Add a passkey</SecondaryButton>
	);
	return (
		<Section title="Passkeys">
			<p>
				A passkey signs you in with your fingerprint, face or PIN, or is your second factor when you
				sign in by mail.
			</p>
			<Show of={loaded}>
				{({ results }) =>
					results.length > 0 && (
						<Table
							list={listOf([...results])}
							label="Passkeys"
							columns={[
								{ title: "Name", cell: ({ name }) => name },
								{ title: "Added", cell: ({ created_at }) => <Time value={created_at} /> },
								{
									title: "Last used",
									cell: ({ last_used_at }) =>
										last_used_at ? <Time value={last_used_at} /> : "Never",
								},
								buttons<Passkey>((passkey) => (
									<>
										<SmallButton onPress={() => setOpen({ kind: "rename", passkey })}>
											Rename
										</SmallButton>
										<SmallButton onPress={() => setOpen({ kind: "remove", passkey })}>
											Remove
										</SmallButton>
									</>
								)),
							]}
						/>
					)
				}
			</Show>
			{add}
			{open && (
				<Opened
					key={open.kind}
					open={open}
					factor={factor}
					onOpen={setOpen}
					onClose={() => {
						setOpen(undefined);
						loaded.reload();
						onChange();
					}}
				/>
			)}
		</Section>
	);
}
