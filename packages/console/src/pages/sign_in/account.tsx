import { useState } from "preact/hooks";
import type { Me, Received, TwoFactor, TwoFactorSetup, UpdateUserBody } from "tenantry-client";
import { useLoad } from "../../load.ts";
import { api, reloadMe } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { useSave } from "../../ui/conflict.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { attempt, Show, say } from "../../ui/feedback.tsx";
import { Field, Form, text } from "../../ui/form.tsx";
import { PageView, Section } from "../../ui/page.tsx";
import { Badge, Facts, Time } from "../../ui/values.tsx";
import { RecoveryCodes } from "./recovery_codes.tsx";
import { CodeField, SetUpForm } from "./two_factor_form.tsx";

const ME = { user: "@me" } as const;

type User = Received<Me, "users">;

/** The caller's names. */
function Names() {
	const loaded = useLoad((signal) => api.users.get(ME, { signal }), []);
	const { save, dialog, version } = useSave<User, UpdateUserBody>({
		read: () => api.users.get(ME),
		update: (user, changes, options) => api.users.update(user, changes, options),
		// The menu has the caller, too.
		onSaved: () => Promise.all([loaded.reload(), attempt(reloadMe)]),
		labels: { first_name: "First name", last_name: "Last name" },
	});
	return (
		<Section title="You">
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
							const isSaved = await save(user, { first_name, last_name });
							if (isSaved) say("Your name is saved.");
							return isSaved;
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

/** Asks for a code before something that needs one. */
const CodeDialog = ({
	title,
	words,
	action,
	isDangerous = false,
	onCode,
	onClose,
}: {
	title: string;
	words: string;
	action: string;
	isDangerous?: boolean;
	onCode: (code: string) => Promise<unknown>;
	onClose: () => void;
}) => (
	<Dialog title={title} onClose={onClose}>
		<p>{words}</p>
		<Form
			action={action}
			isDangerous={isDangerous}
			onSubmit={(fields) => onCode(text(fields, "code"))}
			onCancel={onClose}
		>
			<CodeField hint="Of your authenticator app, or one of your recovery codes." />
		</Form>
	</Dialog>
);

/** What is open above the page. */
type Open =
	| { kind: "set_up"; setup: TwoFactorSetup }
	| { kind: "replace" | "disable" }
	| { kind: "codes"; codes: string[] };

function Opened({
	open,
	onClose,
	onCodes,
}: {
	open: Open;
	onClose: () => void;
	onCodes: (codes: string[]) => void;
}) {
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
				<RecoveryCodes codes={open.codes} action="I have kept them" onDone={onClose} />
			</Dialog>
		);
	if (open.kind === "replace")
		return (
			<CodeDialog
				title="Replace your recovery codes?"
				words="The codes that you have now stop working."
				action="Replace codes"
				onCode={async (code) =>
					onCodes((await api.twoFactor.replaceCodes(ME, { code })).recovery_codes)
				}
				onClose={onClose}
			/>
		);
	return (
		<CodeDialog
			title="Disable the second factor?"
			words="From then on, the link in a mail is all that signing in takes."
			action="Disable"
			isDangerous
			onCode={async (code) => {
				await api.twoFactor.disable(ME, { code });
				say("The second factor is disabled.");
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

/** The state of the second factor, and what can be done with it. */
function State({ state, onOpen }: { state: TwoFactor; onOpen: (open: Open) => void }) {
	const { is_enabled, enabled_at, is_required, recovery_codes_left } = state;
	if (!is_enabled)
		return (
			<div class="panel">
				<p>
					Signing in takes nothing but a link that is mailed to you.{" "}
					{is_required &&
						"An organization of yours requires a second factor: you will be asked to set one up when you next sign in."}
				</p>
				<Button
					class="secondary outline"
					onPress={async () => onOpen({ kind: "set_up", setup: await api.twoFactor.begin(ME) })}
				>
					Set up a second factor
				</Button>
			</div>
		);
	return (
		<div class="panel">
			<Facts
				rows={[
					[
						"Authenticator app",
						<>
							<Badge mood="good">Enabled</Badge> <Time value={enabled_at} />
						</>,
					],
					["Recovery codes", left(recovery_codes_left)],
				]}
			/>
			{is_required && <p>An organization of yours requires it, so it can't be disabled.</p>}
			<div class="buttons">
				<button type="button" class="secondary outline" onClick={() => onOpen({ kind: "replace" })}>
					New recovery codes
				</button>
				{!is_required && (
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
		<Section title="Second factor">
			<Show of={loaded}>{(state) => <State state={state} onOpen={setOpen} />}</Show>
			{open && (
				<Opened
					key={open.kind}
					open={open}
					onClose={() => {
						setOpen(undefined);
						loaded.reload();
					}}
					onCodes={(codes) => setOpen({ kind: "codes", codes })}
				/>
			)}
		</Section>
	);
}

/** The signed-in person: names, and the second factor (docs/console.md#your-account). */
export default function Account() {
	return (
		<PageView title="Account">
			<Names />
			<SecondFactor />
		</PageView>
	);
}
