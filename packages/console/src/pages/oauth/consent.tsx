import { useState } from "preact/hooks";
import type { AppRequest } from "tenantry-client";
import { useLoad } from "../../load.ts";
import { api, me, organizationOf } from "../../session.ts";
import { Problem, Show } from "../../ui/feedback.tsx";
import { Form, Group, rejection, Select, text, texts } from "../../ui/form.tsx";
import { PageView } from "../../ui/page.tsx";
import { ScopeLevels } from "../../ui/scope_levels.tsx";
import type { Scope } from "../../ui/scopes.ts";
import { Places } from "./places.tsx";

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

const DAY_MS = 86_400_000;

const ENDS = [
	["", "When the app doesn't use it for 30 days"],
	["1", "In a day"],
	["7", "In 7 days"],
	["90", "In 90 days"],
	["365", "In a year"],
] as const;

/** Returns when the access ends; null if it ends only when it isn't used. */
function endIn(fields: FormData) {
	const days = text(fields, "ends_at");
	return days === "" ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString();
}

/** Says who asks, in words that the app can't choose. */
const Who = ({ app }: { app: AppRequest }) => (
	<>
		<p>
			{app.client_host === null ? (
				<>
					An app that the organization <strong>{app.client_organization}</strong> has registered
				</>
			) : (
				<>
					An app of <strong>{app.client_host}</strong>
				</>
			)}{" "}
			asks for access to your account {me.value?.email}. It calls itself “{app.client_name}”. Allow
			it only if you were just using it.
		</p>
		<p>
			{app.redirect_host === null ? (
				"It continues in a program on this computer. Allow it only if you started that program."
			) : (
				<>
					It continues at <strong>{app.redirect_host}</strong>.
				</>
			)}
		</p>
	</>
);

function Consent({ app, request }: { app: AppRequest; request: Request }) {
	const [scopes, setScopes] = useState<readonly Scope[]>(app.scopes);
	const [isDone, setDone] = useState(false);
	const user = me.value;
	if (!user) return null;

	async function allow(fields: FormData) {
		if (scopes.length === 0) throw rejection("scopes", "Leave at least one permission.");
		const organization = text(fields, "organization");
		const { redirect_url } = await api.appRequests.approve({
			...request,
			scopes: [...scopes],
			scoped_organizations: organization === "" ? [] : [organization],
			scoped_projects: texts(fields, "project").map(Number),
			ends_at: endIn(fields),
		});
		setDone(true);
		location.assign(redirect_url);
	}
	if (isDone) return <p>The app has access. If it doesn't continue, go back to it.</p>;
	return (
		<Form
			action="Allow"
			asks={false}
			onSubmit={allow}
			onCancel={() => location.assign(app.cancel_url)}
		>
			<Who app={app} />
			<Group name="scopes" label="What it may do">
				<ScopeLevels scopes={scopes} most={app.scopes} onChange={setScopes} />
			</Group>
			<Places organizations={user.organizations} first={organizationOf(user)?.id} />
			<Select name="ends_at" label="Its access ends" defaultValue="" options={ENDS} />
		</Form>
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
