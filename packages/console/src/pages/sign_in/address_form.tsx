import { useState } from "preact/hooks";
import type { SignInMethods } from "tenantry-client";
import { useLoad } from "../../load.ts";
import { api } from "../../session.ts";
import { SecondaryButton } from "../../ui/button.tsx";
import { Field, Form, text } from "../../ui/form.tsx";
import { providerName } from "../../ui/providers.ts";

type Way = SignInMethods["methods"][number];

const isOwn = ({ method }: Way) => method === "saml" || method === "oidc";

const wordsOf = (way: Way) =>
	isOwn(way)
		? `Continue with your organization (${providerName(way.method)})`
		: `Continue with ${providerName(way.method)}`;

const Ways = ({ ways, isApart = false }: { ways: Way[]; isApart?: boolean }) => (
	<>
		{ways.map((way) => (
			<a
				key={way.method}
				class={isOwn(way) ? "button" : "button secondary outline"}
				href={way.path ?? ""}
				{...(isApart && { target: "_blank", rel: "noopener" })}
			>
				{wordsOf(way)}
			</a>
		))}
	</>
);

/** Buttons for the providers of the deployment. */
export function Providers() {
	const { data } = useLoad((signal) => api.signIn.findMethods({}, { signal }), []);
	const ways = data?.methods.filter(({ path }) => path !== null) ?? [];
	return ways.length === 0 ? null : (
		<div class="sign-in-other ways">
			<Ways ways={ways} />
		</div>
	);
}

const Sent = ({ email, onAgain }: { email: string; onAgain: () => void }) => (
	<div role="status">
		<p>
			<strong>Check your mail.</strong> If there is a user with the email address {email}, we have
			sent a link to sign in. It works for 15 minutes.
		</p>
		<div class="buttons">
			<SecondaryButton onPress={onAgain}>Send again, or use another address</SecondaryButton>
		</div>
	</div>
);

/** The ways of an address whose domain has a provider. */
const Chosen = ({
	email,
	found: { is_enforced, methods },
	isApart,
	onMail,
	onAgain,
}: {
	email: string;
	found: SignInMethods;
	isApart: boolean;
	onMail: () => Promise<unknown>;
	onAgain: () => void;
}) => (
	<div role="status">
		<p>
			{is_enforced
				? `Everyone with an address like ${email} signs in in this way.`
				: `How do you want to sign in as ${email}?`}
		</p>
		<div class="ways">
			<Ways ways={is_enforced ? methods : methods.filter(isOwn)} isApart={isApart} />
			<SecondaryButton onPress={onMail}>Send a link by mail</SecondaryButton>
			<SecondaryButton onPress={onAgain}>Use another address</SecondaryButton>
		</div>
		{is_enforced && (
			<p class="quiet">
				Links by mail only work for people whom the owners have named for when the provider fails.
			</p>
		)}
	</div>
);

/**
 * Asks for the address, and continues where its domain says: at a provider, or with a link by mail.
 * @param isApart whether this page stays open, so that providers open in another tab
 * @param waits whether to ask before going to the provider, because it has just failed
 */
export function AddressForm({
	email: given = "",
	isApart = false,
	waits = isApart,
}: {
	email?: string | undefined;
	isApart?: boolean;
	waits?: boolean;
}) {
	const [sentTo, setSentTo] = useState("");
	const [found, setFound] = useState<{ email: string; ways: SignInMethods }>();
	async function send(email: string) {
		await api.signIn.request({ email });
		setSentTo(email);
	}
	function restart() {
		setSentTo("");
		setFound(undefined);
	}
	if (sentTo) return <Sent email={sentTo} onAgain={restart} />;
	if (found)
		return (
			<Chosen
				email={found.email}
				found={found.ways}
				isApart={isApart}
				onMail={() => send(found.email)}
				onAgain={restart}
			/>
		);
	return (
		<Form
			action="Continue"
			asks={false}
			onSubmit={async (fields) => {
				const email = text(fields, "email");
				const ways = await api.signIn.findMethods({ email });
				if (!ways.is_enforced && !ways.methods.some(isOwn)) return send(email);
				setFound({ email, ways });
				const [first] = ways.methods;
				if (ways.is_enforced && !waits && first?.path) location.assign(first.path);
			}}
		>
			<Field
				name="email"
				label="Email address"
				type="email"
				defaultValue={given}
				required
				autocomplete="username"
				hint="You continue at your organization's provider, or with a link by mail."
			/>
		</Form>
	);
}
