import { useEffect, useRef, useState } from "preact/hooks";
import type { SignInMethods } from "tenantry-client";
import { useLoad } from "../../load.ts";
import { api } from "../../session.ts";
import { Button, SecondaryButton } from "../../ui/button.tsx";
import { useDelay } from "../../ui/delay.ts";
import { Field, Form, text } from "../../ui/form.tsx";
import { providerName } from "../../ui/providers.ts";

type Way = SignInMethods["methods"][number];

const isOwn = ({ method }: Way) => method === "saml" || method === "oidc";

const hasMail = ({ methods }: SignInMethods) => methods.some(({ method }) => method === "mail");

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
	ways,
	isApart,
	onMail,
	onAgain,
}: Found & {
	isApart: boolean;
	onMail: () => Promise<unknown>;
	onAgain: () => void;
}) => (
	<div role="status">
		<p>
			{ways.is_enforced
				? `Everyone with an address like ${email} signs in in this way.`
				: `How do you want to sign in as ${email}?`}
		</p>
		<div class="ways">
			<Ways
				ways={ways.methods.filter((way) => (ways.is_enforced ? way.path !== null : isOwn(way)))}
				isApart={isApart}
			/>
			{hasMail(ways) && <SecondaryButton onPress={onMail}>Send a link by mail</SecondaryButton>}
			<SecondaryButton onPress={onAgain}>Use another address</SecondaryButton>
		</div>
		{ways.is_enforced && hasMail(ways) && <p class="quiet">{ONLY_NAMED}</p>}
	</div>
);

/** docs/sign-on.md#break-glass */
const ONLY_NAMED =
	"Links by mail only work for people whom the owners have named for when the provider fails.";

/** The form of an address before its domain is looked up while the user types. */
const ADDRESS = /^[^@\s]+@[^@\s.]+\.[^@\s]+$/;

/** How to sign in with an address. */
type Found = { email: string; ways: SignInMethods };

/** Returns a function that looks up how to sign in with an address, once for each. */
function useWays() {
	const last = useRef<{ email: string; ways: Promise<SignInMethods> }>(undefined);
	return async (email: string): Promise<Found> => {
		if (last.current?.email !== email)
			last.current = { email, ways: api.signIn.findMethods({ email }) };
		const { current } = last;
		current.ways.catch(() => {
			if (last.current === current) last.current = undefined;
		});
		return { email, ways: await current.ways };
	};
}

/**
 * The address with which this entry of the history went to a provider. If that shows an error, the
 * user comes back with the browser's Back, to a page that must not go there again.
 */
function readAddress() {
	const state: unknown = history.state;
	const isRead = typeof state === "object" && state !== null && "address" in state;
	return isRead ? String(state.address) : undefined;
}

const keepAddress = (address: string | undefined) =>
	history.replaceState(address === undefined ? null : { address }, "");

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
	const [found, setFound] = useState<Found>();
	/** Whose domain offers a link by mail although it requires a provider, before Continue. */
	const [offered, setOffered] = useState<Found>();
	const find = useWays();
	const { delay, cancel } = useDelay();
	const typed = useRef("");
	useEffect(() => {
		const address = isApart ? undefined : readAddress();
		if (address) find(address).then(setFound, () => {});
	}, []);
	async function send(email: string) {
		await api.signIn.request({ email });
		setSentTo(email);
	}
	function restart() {
		if (!isApart) keepAddress(undefined);
		setSentTo("");
		setFound(undefined);
	}
	function lookUp(email: string) {
		typed.current = email;
		setOffered(undefined);
		const show = (found: Found) => {
			if (found.email === typed.current) setOffered(found);
		};
		if (ADDRESS.test(email)) delay(() => find(email).then(show, () => {}));
		else cancel();
	}
	if (sentTo) return <Sent email={sentTo} onAgain={restart} />;
	if (found)
		return (
			<Chosen
				{...found}
				isApart={isApart}
				onMail={() => {
					// The provider may still be loading, and would replace this page.
					window.stop();
					return send(found.email);
				}}
				onAgain={restart}
			/>
		);
	return (
		<>
			<Form
				action="Continue"
				asks={false}
				onSubmit={async (fields) => {
					cancel();
					const found = await find(text(fields, "email"));
					const { email, ways } = found;
					if (!ways.is_enforced && !ways.methods.some(isOwn)) return send(email);
					setFound(found);
					const [first] = ways.methods;
					if (!ways.is_enforced || waits || !first?.path) return;
					keepAddress(email);
					location.assign(first.path);
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
					onInput={({ currentTarget: { value } }) => lookUp(value.trim())}
				/>
			</Form>
			{offered?.ways.is_enforced && hasMail(offered.ways) && (
				<p class="quiet" role="status">
					If the provider of your organization fails:{" "}
					<Button class="link" onPress={() => send(offered.email)}>
						Send a link by mail
					</Button>
				</p>
			)}
		</>
	);
}
