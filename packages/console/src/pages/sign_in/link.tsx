import { useEffect, useRef, useState } from "preact/hooks";
import { TenantryError, type TwoFactorSetup } from "tenantry-client";
import { mayReplace } from "../../replacing.tsx";
import { api, currentUser, enter, remember } from "../../session.ts";
import { Form, text } from "../../ui/form.tsx";
import { RecoveryCodes } from "./recovery_codes.tsx";
import { CodeField, SetUpForm } from "./two_factor_form.tsx";

/** The next step. */
type Step = { kind: "link" } | { kind: "code" } | { kind: "set_up"; setup: TwoFactorSetup };

const codeOf = (error: unknown) => (error instanceof TenantryError ? error.code : undefined);

const StepForm = ({
	step,
	onSubmit,
}: {
	step: Step;
	onSubmit: (code?: string) => Promise<void>;
}) => (
	<>
		{step.kind === "set_up" && (
			<>
				<p>
					Your organization requires a second factor. To set it up, you need an authenticator app,
					such as a password manager.
				</p>
				<SetUpForm setup={step.setup} action="Sign in" onCode={onSubmit} />
			</>
		)}
		{step.kind === "code" && (
			<Form key="code" action="Sign in" onSubmit={(fields) => onSubmit(text(fields, "code"))}>
				<CodeField hint="From your authenticator app, or a recovery code." />
			</Form>
		)}
		{step.kind === "link" && (
			<Form key="link" action="Sign in" onSubmit={() => onSubmit()}>
				<p>The link works once.</p>
			</Form>
		)}
	</>
);

/**
 * Signs in with a link from a mail. It requires a click, because mail scanners open links too.
 * @param onSignedIn called when the user is signed in, or keeps the current session
 */
export function Link({
	token,
	onSignedIn,
	onOther,
}: {
	token: string;
	onSignedIn: () => void;
	/** Called when the user wants to sign in without the link. */
	onOther: () => void;
}) {
	const [step, setStep] = useState<Step>({ kind: "link" });
	const [codes, setCodes] = useState<string[]>();
	const view = useRef<HTMLDivElement>(null);
	useEffect(() => view.current?.querySelector("input")?.focus(), [step]);

	async function show() {
		await enter();
		onSignedIn();
	}

	/** Whether the user wants to sign in although it ends the session of somebody else. */
	async function isWanted() {
		const current = await currentUser();
		if (!current || step.kind !== "link") return true;
		const { email, organization_name } = await api.signIn.preview({ token });
		const next = { email, organization: organization_name ?? undefined };
		return email === current.email || mayReplace({ current, next });
	}

	async function complete(code?: string) {
		try {
			if (!(await isWanted())) return onSignedIn();
			const { user, recovery_codes } = await api.signIn.complete({ token, code });
			remember(user.uuid);
			if (recovery_codes) setCodes(recovery_codes);
			else await show();
		} catch (error) {
			const next = codeOf(error);
			if (next === "two_factor_required" && code === undefined) setStep({ kind: "code" });
			else if (next === "two_factor_setup_required")
				setStep({ kind: "set_up", setup: await api.signIn.beginTwoFactor({ token }) });
			else throw error;
		}
	}

	if (codes) return <RecoveryCodes codes={codes} action="I have saved them" onDone={show} />;
	return (
		<div ref={view}>
			<StepForm step={step} onSubmit={complete} />
			<p class="sign-in-other">
				<button type="button" class="link" onClick={onOther}>
					Sign in another way
				</button>
			</p>
		</div>
	);
}
