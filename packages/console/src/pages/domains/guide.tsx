/** The steps at a provider. The documentation has them, so they are read from its page. */
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import type { Domain } from "tenantry-client";
import { useLoad } from "../../load.ts";
import { Show } from "../../ui/feedback.tsx";

const PAGE = "/docs/sign-on";

/** The providers that have a section in the documentation, by its id. */
const PROVIDERS = [
	["okta", "Okta", /\bokta/],
	["microsoft-entra-id", "Microsoft Entra ID", /microsoftonline|sts\.windows\.net/],
	["google-workspace", "Google Workspace", /accounts\.google\.com/],
	["keycloak", "Keycloak", /\/realms\//],
] as const;

/** Returns the provider of a domain, by its addresses; "" if it is another one, or if there is none. */
export const providerOf = ({ oidc_issuer, saml_entity_id }: Domain) =>
	PROVIDERS.find(([, , pattern]) => pattern.test(`${oidc_issuer} ${saml_entity_id}`))?.[0] ?? "";

/** Isn't a field of the form around it, because it isn't saved. */
export const ProviderChoice = ({
	provider,
	onChange,
}: {
	provider: string;
	onChange: (provider: string) => void;
}) => {
	const id = useId();
	return (
		<div class="field">
			<label for={id}>Which provider do you use?</label>
			<select
				id={id}
				aria-describedby={`${id}-hint`}
				value={provider}
				onChange={({ currentTarget }) => onChange(currentTarget.value)}
			>
				<option value="">Another one</option>
				{PROVIDERS.map(([id, name]) => (
					<option key={id} value={id}>
						{name}
					</option>
				))}
			</select>
			<small id={`${id}-hint`}>
				{provider
					? "The steps at your provider are below, with the values to copy. Take OpenID Connect if you can: it has no certificate to replace."
					: "For Okta, Entra ID, Google and Keycloak, this page shows each step."}
			</small>
		</div>
	);
};

const isText = ({ tagName, textContent }: Element, protocol: string) =>
	tagName === "P" && textContent?.trim() === protocol;

/** Returns the elements of the documentation about a protocol of a provider. */
async function readSteps(provider: string, protocol: string, signal: AbortSignal) {
	const response = await fetch(PAGE, { signal });
	if (!response.ok) throw new Error("The steps can't be loaded.");
	const page = new DOMParser().parseFromString(await response.text(), "text/html");
	const steps: Element[] = [];
	let isInside = false;
	const first = page.getElementById(provider)?.nextElementSibling ?? null;
	for (let next = first; next && !/^H[23]$/.test(next.tagName); next = next.nextElementSibling) {
		if (next.tagName === "P" && next.querySelector(":scope > strong:only-child"))
			isInside = isText(next, protocol);
		else if (isInside) steps.push(next);
	}
	for (const link of steps.flatMap((step) => [...step.querySelectorAll("a")])) {
		link.href = new URL(link.getAttribute("href") ?? "", location.origin + PAGE).href;
		link.target = "_blank";
		link.rel = "noopener";
	}
	return steps;
}

function Steps({ steps }: { steps: readonly Element[] }) {
	const root = useRef<HTMLDivElement>(null);
	useLayoutEffect(() => root.current?.replaceChildren(...steps), [steps]);
	return <div ref={root} class="provider-steps" />;
}

/** The steps at the chosen provider; nothing for another one. */
export function Guide({
	provider,
	protocol,
}: {
	provider: string;
	protocol: "OpenID Connect" | "SAML";
}) {
	const name = PROVIDERS.find(([id]) => id === provider)?.[1];
	return name === undefined ? null : (
		<details class="more" open={protocol === "OpenID Connect"}>
			<summary>
				Steps at {name} for {protocol}
			</summary>
			<LoadedSteps key={provider} provider={provider} protocol={protocol} />
		</details>
	);
}

function LoadedSteps({ provider, protocol }: { provider: string; protocol: string }) {
	const loaded = useLoad((signal) => readSteps(provider, protocol, signal), [provider, protocol]);
	return <Show of={loaded}>{(steps) => <Steps steps={steps} />}</Show>;
}
