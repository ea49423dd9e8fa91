import { useEffect, useRef, useState } from "preact/hooks";
import { type PasskeyRequest, TenantryError, type TwoFactorSetup } from "tenantry-client";
import { mayReplace } from "../../replacing.tsx";
import { api, currentUser, enter, remember } from "../../session.ts";
import { attempt } from "../../ui/feedback.tsx";
import { Form } from "../../ui/form.tsx";
import { type Proof, ProofForm } from "../../ui/proof.tsx";
import { RecoveryCodes } from "./recovery_codes.tsx";
import { SetUpForm } from "./two_factor_form.tsx";

/** The next step. `direct`: none, if all goes well. */
type Step =
	| { kind: "direct" | "link" }
	| { kind: "prove"; passkeys: PasskeyRequest }
	| { kind: "set_up"; setup: TwoFactorSetup };

const codeOf = (error: unknown) => (error instanceof TenantryError ? error.code : undefined);

/** What to do without the second factor (docs/keys.md#a-lost-second-factor). */
const Lost = () => (
	<details>
		<summary>I have lost my second factor</summary>
		<p>
			Enter one of the recovery codes that you saved when you set it up. Each works once, in place
			of a code.
		</p>
		<p>
			If you have none, ask an owner of your organization, or an admin, to reset your second factor:
			under Members, in the menu beside your name. You then sign in with a new link by mail.{" "}
			<a href="/docs/keys#a-lost-second-factor" target="_blank" rel="noopener">
				More about this
			</a>
		</p>
	</details>
);

const StepForm = ({
	step,
	losesKeys,
	onSubmit,
}: {
	step: Step;
	losesKeys: boolean;
	onSubmit: (proof?: Proof) => Promise<void>;
}) => (
	<>
		{step.kind === "set_up" && (
			<>
				<p>
					Your organization requires a second factor. To set it up, you need an authenticator app,
					such as a password manager.
				</p>
				<SetUpForm setup={step.setup} action="Sign in" onCode={(code) => onSubmit({ code })} />
			</>
		)}
		{step.kind === "prove" && (
			<ProofForm
				key="prove"
				action="Sign in"
				onProof={onSubmit}
				challenge={
					step.passkeys.allowCredentials.length > 0 ? async () => step.passkeys : undefined
				}
			/>
		)}
		{step.kind === "prove" && <Lost />}
		{step.kind === "direct" && <p role="status">Signing in…</p>}
		{step.kind === "link" && (
			<Form key="link" action="Sign in" onSubmit={() => onSubmit()}>
				<p>To continue, click Sign in. This works once.</p>
				{losesKeys && (
					<p role="status">
						Signing in proves your email address, and revokes the API keys that were created before,
						such as the one that you got with an invite. Create new ones afterwards.
					</p>
				)}
			</Form>
		)}
	</>
);

/**
 * Whether this browser has just been at the provider of the link: then the service has given it a
 * cookie with the token.
 */
const isVouched = (token: string) => {
	const prefix = location.protocol === "https:" ? "__Host-" : "";
	return document.cookie.split("; ").includes(`${prefix}tenantry-signed-in=${token}`);
};

/**
 * Signs in with a link. One from a mail requires a click, because mail scanners open links too, and
 * so does one of somebody else.
 * @param onSignedIn called when the user is signed in, or keeps the current session
 */
export function Link({
	token,
	isPasskey,
	onSignedIn,
	onOther,
}: {
	token: string;
	/** Whether the token is of a passkey, which needs no further click. */
	isPasskey: boolean;
	onSignedIn: () => void;
	/**
	 * Called when the user wants to sign in without the link, or has to.
	 * @param problem why the link doesn't work
	 */
	onOther: (problem?: string) => void;
}) {
	const [step, setStep] = useState<Step>({
		kind: isPasskey || isVouched(token) ? "direct" : "link",
	});
	const [losesKeys, setLosesKeys] = useState(false);
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
		if (!current || step.kind === "prove" || step.kind === "set_up") return true;
		const { email, organization_name } = await api.signIn.preview({ token });
		const next = { email, organization: organization_name ?? undefined };
		return email === current.email || mayReplace({ current, next });
	}

	async function complete(proof?: Proof) {
		try {
			if (!(await isWanted())) return onSignedIn();
			const { user, recovery_codes } = await api.signIn.complete({ token, ...proof });
			remember(user.uuid);
			if (recovery_codes) setCodes(recovery_codes);
			else await show();
		} catch (error) {
			const next = codeOf(error);
			if (next === "two_factor_required" && !proof)
				setStep({ kind: "prove", passkeys: await api.signIn.beginPasskey({ token }) });
			else if (next === "two_factor_setup_required")
				setStep({ kind: "set_up", setup: await api.signIn.beginTwoFactor({ token }) });
			else if (error instanceof TenantryError && error.attr === "token") onOther(error.detail);
			else throw error;
		}
	}

	/** The user can then try again. */
	function askAgain(error: unknown) {
		setStep({ kind: "link" });
		throw error;
	}

	/** Signs in, unless it takes a click. The user must know that keys are lost before that. */
	async function begin() {
		const preview = await api.signIn.preview({ token }).catch(() => undefined);
		const loses = preview?.loses_keys ?? false;
		setLosesKeys(loses);
		if (step.kind !== "direct") return;
		if (loses) setStep({ kind: "link" });
		else await complete().catch(askAgain);
	}

	useEffect(() => {
		attempt(begin);
	}, []);

	if (codes) return <RecoveryCodes codes={codes} action="I have saved them" onDone={show} />;
	return (
		<div ref={view}>
			<StepForm step={step} losesKeys={losesKeys} onSubmit={complete} />
			<p class="sign-in-other">
				<button type="button" class="link" onClick={() => onOther()}>
					Sign in another way
				</button>
			</p>
		</div>
	);
}
