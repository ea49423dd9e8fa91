import { useEffect, useState } from "preact/hooks";
import type { Domain, SignInTestResult } from "tenantry-client";
import { useLoad } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { SecondaryButton } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { attempt } from "../../ui/feedback.tsx";
import { Section } from "../../ui/page.tsx";
import { providerName } from "../../ui/providers.ts";
import { Badge, Facts } from "../../ui/values.tsx";
import { METHODS } from "./enforcement.ts";

/** Returns the token of a test that has ended, and removes it from the URL. */
function takeToken() {
	const token = new URLSearchParams(location.hash.slice(1)).get("tested");
	if (token) history.replaceState(null, "", location.pathname + location.search);
	return token;
}

/** The subjects of the checks, by the problem that each finds. */
const CHECKS: Record<string, string> = {
	not_configured: "The provider is set up",
	provider_unavailable: "The provider can be reached",
	provider_denied: "The provider lets you in",
	invalid_response: "The response is valid and signed",
	email_missing: "The response has an email address",
	email_not_verified: "The email address is verified",
	wrong_domain: "The email address is in the domain",
	linked_to_another: "The account there and yours here aren't linked to others",
	unavailable: "The service can check the response",
	expired: "The test was finished in time",
};

const checkName = (code: string) => new Map(Object.entries(CHECKS)).get(code) ?? code;

const shown = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

const Result = ({ result, onClose }: { result: SignInTestResult; onClose: () => void }) => (
	<Dialog title={result.success ? "The sign-in works" : "The sign-in failed"} onClose={onClose}>
		<ul class="trial-steps">
			{result.steps.map(({ name, error }) => (
				<li key={name}>
					{error === null ? <Badge mood="good">Passed</Badge> : <Badge mood="bad">Failed</Badge>}{" "}
					{checkName(name)}
					{error !== null && <small class="below said">{error}</small>}
				</li>
			))}
		</ul>
		{result.is_linked && (
			<p>Your account at the provider is linked to yours here. You can now require this way.</p>
		)}
		{result.success && !result.is_linked && (
			<p>
				You signed in there with another address than yours here, so nothing is linked. To require
				this way, an admin whose address here is in the domain has to test it.
			</p>
		)}
		{result.claims && (
			<>
				<h3>What the provider said about you</h3>
				<Facts rows={Object.entries(result.claims).map(([name, value]) => [name, shown(value)])} />
			</>
		)}
		<div class="buttons">
			<SecondaryButton onPress={onClose}>Close</SecondaryButton>
		</div>
	</Dialog>
);

/** Testing the ways to sign in of a verified domain (docs/sign-on.md#testing-a-connection). */
export function Tests({ domain }: { domain: Domain }) {
	const { at } = useOrganization();
	const here = { ...at, domain: domain.id };
	const [result, setResult] = useState<SignInTestResult>();
	const { data } = useLoad((signal) => api.signIn.findMethods({}, { signal }), []);
	const isThere = (method: (typeof METHODS)[number]) =>
		method === "oidc"
			? domain.has_oidc
			: method === "saml"
				? domain.has_saml
				: data?.methods.some((way) => way.method === method);
	useEffect(() => {
		const token = takeToken();
		if (token) attempt(async () => setResult(await api.signInTests.complete(here, { token })));
	}, []);
	const methods = METHODS.filter(isThere);
	return (
		<Section title="Test">
			<p>
				A test signs you in at a provider, and shows what it says about you and each check. Nobody
				else is affected. If it works, your account there is linked to yours here, so that you can
				require this way.
			</p>
			{methods.length === 0 && <p class="quiet">Set up and save a provider first.</p>}
			<div class="buttons">
				{methods.map((method) => (
					<SecondaryButton
						key={method}
						onPress={async () => {
							const { url } = await api.signInTests.create(here, { method });
							location.assign(url);
						}}
					>
						Test {providerName(method)}
					</SecondaryButton>
				))}
			</div>
			{result && <Result result={result} onClose={() => setResult(undefined)} />}
		</Section>
	);
}
