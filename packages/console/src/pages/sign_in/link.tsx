import { useEffect, useRef, useState } from "preact/hooks";
import { type SignedIn, TenantryError, type TwoFactorSetup } from "tenantry-client";
import { mayReplace } from "../../replacing.tsx";
import { api, revoke, shareKey, signIn } from "../../session.ts";
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
				<p>The link works once. You stay signed in for twelve hours.</p>
			</Form>
		)}
	</>
);

/**
 * Signs in with a link from a mail. It requires a click, because mail scanners open links too.
 * @param onSignedIn called when the user is signed in, or keeps the session that this tab has
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
	const [done, setDone] = useState<SignedIn>();
	const view = useRef<HTMLDivElement>(null);
	useEffect(() => view.current?.querySelector("input")?.focus(), [step]);

	async function enter({ personal_api_key }: SignedIn) {
		const key = personal_api_key.value ?? "";
		if (await signIn(key, mayReplace, { isByMail: true })) shareKey(key);
		else await revoke(key);
		onSignedIn();
	}

	async function complete(code?: string) {
		try {
			const response = await api.signIn.complete({ token, code });
			if (response.recovery_codes) setDone(response);
			else await enter(response);
		} catch (error) {
			const next = codeOf(error);
			if (next === "two_factor_required" && code === undefined) setStep({ kind: "code" });
			else if (next === "two_factor_setup_required")
				setStep({ kind: "set_up", setup: await api.signIn.beginTwoFactor({ token }) });
			else throw error;
		}
	}

	if (done?.recovery_codes)
		return (
			<RecoveryCodes
				codes={done.recovery_codes}
				action="I have saved them"
				onDone={() => enter(done)}
			/>
		);
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
