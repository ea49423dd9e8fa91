import { useState } from "preact/hooks";
import type { Me, TwoFactor, TwoFactorSetup, UpdateUserBody } from "tenantry-client";
import { useLoad } from "../../load.ts";
import { api, me, reloadMe } from "../../session.ts";
import { SecondaryButton } from "../../ui/button.tsx";
import { useSave } from "../../ui/conflict.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { attempt, Show, say } from "../../ui/feedback.tsx";
import { Field, Form, text } from "../../ui/form.tsx";
import { PageView, Section } from "../../ui/page.tsx";
import { ProofDialog } from "../../ui/proof.tsx";
import { Badge, Facts, Time } from "../../ui/values.tsx";
import { OwnApps } from "../oauth/own_apps.tsx";
import { Identities } from "./identities.tsx";
import { Passkeys } from "./passkeys.tsx";
import { RecoveryCodes } from "./recovery_codes.tsx";
import { Sessions } from "./sessions.tsx";
import { SetUpForm } from "./two_factor_form.tsx";

const ME = { user: "@me" } as const;

function Names() {
	// The console has just loaded the user. If this is old, `save` asks.
	const loaded = useLoad(async () => me.value ?? reloadMe(), []);
	const { save, dialog, version } = useSave<Me, UpdateUserBody>({
		read: () => api.users.get(ME),
		update: (user, changes) => api.users.update({ ...user, ...ME }, changes),
		// The menu also shows the user.
		onSaved: async () => {
			await attempt(reloadMe);
			await loaded.reload();
		},
		labels: { first_name: "First name", last_name: "Last name" },
	});
	return (
		<Section title="Profile">
			<Show of={loaded}>
				{(user) => (
					<Form
						key={version}
						action="Save changes"
						showsSaved
						onSubmit={async (fields) => {
							const [first_name, last_name] = [
								text(fields, "first_name"),
								text(fields, "last_name"),
							];
							return save(user, { first_name, last_name }, "Your name is saved.");
						}}
					>
						<Facts rows={[["Email address", user.email]]} />
						<Field
							name="first_name"
							label="First name"
							autocomplete="given-name"
							maxLength={150}
							defaultValue={user.first_name}
						/>
						<Field
							name="last_name"
							label="Last name"
							autocomplete="family-name"
							maxLength={150}
							defaultValue={user.last_name}
						/>
					</Form>
				)}
			</Show>
			{dialog}
		</Section>
	);
}

/** The open dialog. */
type Open =
	| { kind: "set_up"; setup: TwoFactorSetup }
	| { kind: "begin" | "replace" | "disable" }
	| { kind: "codes"; codes: string[] };

function Opened({
	open,
	state: { passkeys },
	onOpen,
	onClose,
}: {
	open: Open;
	state: TwoFactor;
	onOpen: (open: Open) => void;
	onClose: () => void;
}) {
	const onCodes = (codes: string[]) => onOpen({ kind: "codes", codes });
	if (open.kind === "set_up")
		return (
			<Dialog title="Set up a second factor" onClose={onClose}>
				<SetUpForm
					setup={open.setup}
					action="Enable"
					onCode={async (code) =>
						onCodes((await api.twoFactor.confirm(ME, { code })).recovery_codes)
					}
					onCancel={onClose}
				/>
			</Dialog>
		);
	if (open.kind === "codes")
		return (
			<Dialog title="Your recovery codes" onClose={onClose}>
				<RecoveryCodes codes={open.codes} action="I have saved them" onDone={onClose} />
			</Dialog>
		);
	if (open.kind === "begin")
		return (
			<ProofDialog
				title="Set up an authenticator app"
				words="Prove that it is you, with a factor that you already have. New recovery codes will replace your current ones."
				action="Continue"
				passkeys={passkeys}
				onProof={async (proof) =>
					onOpen({ kind: "set_up", setup: await api.twoFactor.begin(ME, proof) })
				}
				onClose={onClose}
			/>
		);
	if (open.kind === "replace")
		return (
			<ProofDialog
				title="Replace your recovery codes?"
				words="Your current recovery codes stop working."
				action="Replace codes"
				passkeys={passkeys}
				onProof={async (proof) =>
					onCodes((await api.twoFactor.replaceCodes(ME, proof)).recovery_codes)
				}
				onClose={onClose}
			/>
		);
	return (
		<ProofDialog
			title="Disable the authenticator app?"
			words={
				passkeys > 0
					? "Your passkeys and recovery codes remain."
					: "You then only need the link in a mail to sign in."
			}
			action="Disable"
			isDangerous
			passkeys={passkeys}
			onProof={async (proof) => {
				await api.twoFactor.disable(ME, proof);
				say("The authenticator app is disabled.");
				onClose();
			}}
			onClose={onClose}
		/>
	);
}

const left = (n: number) =>
	n === 0 ? (
		<Badge mood="bad">None left</Badge>
	) : n < 4 ? (
		<Badge mood="warn">{n} left</Badge>
	) : (
		`${n} left`
	);

function State({ state, onOpen }: { state: TwoFactor; onOpen: (open: Open) => void }) {
	const { is_enabled, enabled_at, passkeys, is_required, recovery_codes_left } = state;
	const hasApp = enabled_at !== null;
	const isKept = is_required && passkeys === 0;
	const setUp = (
		<SecondaryButton
			onPress={async () =>
				onOpen(
					is_enabled ? { kind: "begin" } : { kind: "set_up", setup: await api.twoFactor.begin(ME) },
				)
			}
		>
			Set up an authenticator app
		</SecondaryButton>
	);
	if (!is_enabled)
		return (
			<div class="panel">
				<p>
					You have no second factor. You sign in with only a link that you get by mail.{" "}
					{is_required &&
						"One of your organizations requires a second factor, so you have to set it up when you next sign in."}
				</p>
				{setUp}
			</div>
		);
	return (
		<div class="panel">
			<Facts
				rows={[
					[
						"Authenticator app",
						hasApp ? (
							<>
								<Badge mood="good">Enabled</Badge> <Time value={enabled_at} />
							</>
						) : (
							"None. Your passkeys are your second factor."
						),
					],
					["Recovery codes", left(recovery_codes_left)],
				]}
			/>
			{hasApp && isKept && (
				<p>You can't disable it, because one of your organizations requires it.</p>
			)}
			<div class="buttons">
				<SecondaryButton onPress={() => onOpen({ kind: "replace" })}>
					Replace recovery codes
				</SecondaryButton>
				{!hasApp && setUp}
				{hasApp && !isKept && (
					<button type="button" class="danger" onClick={() => onOpen({ kind: "disable" })}>
						Disable
					</button>
				)}
			</div>
		</div>
	);
}

function SecondFactor() {
	const loaded = useLoad((signal) => api.twoFactor.get(ME, { signal }), []);
	const [open, setOpen] = useState<Open>();
	return (
		<>
			<Section title="Second factor">
				<Show of={loaded}>
					{(state) => (
						<>
							<State state={state} onOpen={setOpen} />
							{open && (
								<Opened
									key={open.kind}
									open={open}
									state={state}
									onOpen={setOpen}
									onClose={() => {
										setOpen(undefined);
										loaded.reload();
									}}
								/>
							)}
						</>
					)}
				</Show>
			</Section>
			{loaded.data && <Passkeys factor={loaded.data} onChange={loaded.reload} />}
		</>
	);
}

/** The page of the user's account (docs/console.md#your-account). */
export default function Account() {
	return (
		<PageView title="Account">
			<Names />
			<SecondFactor />
			<Identities />
			<Sessions />
			<OwnApps />
		</PageView>
	);
}
