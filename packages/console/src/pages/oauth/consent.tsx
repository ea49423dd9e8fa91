import { useEffect, useState } from "preact/hooks";
import type { AppRequest } from "tenantry-client";
import { useLoad } from "../../load.ts";
import { api } from "../../session.ts";
import { Problem, Show } from "../../ui/feedback.tsx";
import { PageView } from "../../ui/page.tsx";
import { Decision } from "./decision.tsx";

/** Returns the request of the app in a query; undefined if nobody can tell whose it is. */
function requestIn(search: string) {
	const query = new URLSearchParams(search);
	const [client_id, redirect_uri] = [query.get("client_id"), query.get("redirect_uri")];
	if (!client_id || !redirect_uri) return undefined;
	const optional = (name: string) => query.get(name) ?? undefined;
	return {
		client_id,
		redirect_uri,
		response_type: optional("response_type"),
		code_challenge: optional("code_challenge"),
		code_challenge_method: optional("code_challenge_method"),
		scope: optional("scope"),
		state: optional("state"),
		resource: optional("resource"),
	};
}

type Request = NonNullable<ReturnType<typeof requestIn>>;

/** Whether the browser may go to the app without a click, although its request is wrong. */
function mayGoBack({ redirect_host, client_host, client_organization, cancel_url }: AppRequest) {
	if (client_organization !== null) return true;
	// A link to the service must not open a program that the browser lets only the service open.
	if (redirect_host === null) return new URL(cancel_url).protocol === "http:";
	return client_host !== null;
}

/**
 * Sends the error in a request to the app (RFC 6749, section 4.1.2.1). The browser goes to a website
 * by itself only if its owner or an organization is responsible for the app (RFC 9700, section
 * 4.11.2).
 */
function Wrong({ app }: { app: AppRequest }) {
	const isTrusted = mayGoBack(app);
	useEffect(() => {
		if (isTrusted) location.replace(app.cancel_url);
	}, []);
	return (
		<p>
			The app's request is wrong ({app.error}).{" "}
			<a href={app.cancel_url}>
				Go back to the app{app.redirect_host !== null && ` at ${app.redirect_host}`}
			</a>
			, and tell its makers.
		</p>
	);
}

/** Where the app continues. */
function Continues({ host, redirect_uri }: { host: string | null; redirect_uri: string }) {
	const { protocol } = new URL(redirect_uri);
	const isServer = protocol === "http:" || protocol === "https:";
	if (host !== null)
		return (
			<>
				It continues at <strong>{host}</strong>.
			</>
		);
	return (
		<>
			It continues in {isServer ? "a" : "the"} program on this computer
			{!isServer && (
				<>
					{" "}
					that opens <strong>{protocol}</strong> links
				</>
			)}
			. Allow it only if you started that program.
		</>
	);
}

function Consent({ app, request }: { app: AppRequest; request: Request }) {
	const [isDone, setDone] = useState(false);
	if (app.error !== null) return <Wrong app={app} />;
	if (isDone) return <p>The app has access. If it doesn't continue, go back to it.</p>;
	return (
		<Decision
			app={app}
			onAllow={async (choice) => {
				const { redirect_url } = await api.appRequests.approve({
					...request,
					response_type: "code",
					code_challenge: request.code_challenge ?? "",
					code_challenge_method: "S256",
					...choice,
				});
				setDone(true);
				location.assign(redirect_url);
			}}
			onCancel={() => location.assign(app.cancel_url)}
		>
			<Continues host={app.redirect_host} redirect_uri={request.redirect_uri} />
		</Decision>
	);
}

/** The page on which a person decides about an app (docs/oauth.md#what-the-person-sees). */
export default function ConsentPage() {
	const request = requestIn(location.search);
	const loaded = useLoad(
		async (signal) => (request ? api.appRequests.preview(request, { signal }) : undefined),
		[location.search],
	);
	return (
		<PageView title="Allow an app">
			{loaded.error && !loaded.data ? (
				<Problem error={loaded.error} retry={loaded.reload} />
			) : !request ? (
				<p>The app's request is incomplete. Go back to the app, and tell its makers.</p>
			) : (
				<Show of={loaded}>{(app) => app && <Consent app={app} request={request} />}</Show>
			)}
		</PageView>
	);
}
