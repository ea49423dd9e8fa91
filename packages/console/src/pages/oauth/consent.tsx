import { useState } from "preact/hooks";
import type { AppRequest } from "tenantry-client";
import { useLoad } from "../../load.ts";
import { api } from "../../session.ts";
import { Problem, Show } from "../../ui/feedback.tsx";
import { PageView } from "../../ui/page.tsx";
import { Decision } from "./decision.tsx";

/** Returns the request of the app in a query; undefined if it is one that no app may make. */
function requestIn(search: string) {
	const query = new URLSearchParams(search);
	const optional = (name: string) => query.get(name) ?? undefined;
	const required = (name: string) => query.get(name) ?? "";
	if (query.get("response_type") !== "code" || query.get("code_challenge_method") !== "S256")
		return undefined;
	return {
		response_type: "code" as const,
		client_id: required("client_id"),
		redirect_uri: required("redirect_uri"),
		code_challenge: required("code_challenge"),
		code_challenge_method: "S256" as const,
		scope: optional("scope"),
		state: optional("state"),
		resource: optional("resource"),
	};
}

type Request = NonNullable<ReturnType<typeof requestIn>>;

function Consent({ app, request }: { app: AppRequest; request: Request }) {
	const [isDone, setDone] = useState(false);
	if (isDone) return <p>The app has access. If it doesn't continue, go back to it.</p>;
	return (
		<Decision
			app={app}
			onAllow={async (choice) => {
				const { redirect_url } = await api.appRequests.approve({ ...request, ...choice });
				setDone(true);
				location.assign(redirect_url);
			}}
			onCancel={() => location.assign(app.cancel_url)}
		>
			{app.redirect_host === null ? (
				"It continues in a program on this computer. Allow it only if you started that program."
			) : (
				<>
					It continues at <strong>{app.redirect_host}</strong>.
				</>
			)}
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
