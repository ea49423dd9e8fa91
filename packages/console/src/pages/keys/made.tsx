import { useEffect, useRef, useState } from "preact/hooks";
import type { PersonalApiKey } from "tenantry-client";
import { SecondaryButton } from "../../ui/button.tsx";
import { includes, type Scope } from "../../ui/scopes.ts";
import { Badge, Copy, Snippet } from "../../ui/values.tsx";

/**
 * Returns a path that the key can read; undefined if there is none.
 * @param organization the organization of the service account, if the key belongs to one
 */
function pathFor({ scopes, ...key }: PersonalApiKey, organization?: string) {
	const own = organization ?? key.scoped_organizations[0] ?? "@current";
	const project = key.scoped_projects[0] ?? "@current";
	const ofProject = `/api/projects/${project}`;
	const ofOrganization = `/api/organizations/${own}`;
	const isOfProjects = key.scoped_projects.length > 0;
	const paths: readonly (readonly [Scope, string, isOfOrganizations?: boolean])[] = [
		["user:read", "/api/users/@me"],
		["project:read", "/api/projects"],
		["personal_api_key:read", "/api/personal_api_keys/@current"],
		["batch_export:read", `${ofProject}/batch_exports`],
		["plugin:read", `${ofProject}/plugin_configs`],
		[
			"activity_log:read",
			isOfProjects ? `${ofProject}/activity_log` : `${ofOrganization}/activity_log`,
		],
		["organization:read", ofOrganization, true],
		["organization_member:read", `${ofOrganization}/members`, true],
		["webhook:read", `${ofOrganization}/webhooks`, true],
		["audit_stream:read", `${ofOrganization}/audit_streams`, true],
	];
	const fits = paths.find(
		([scope, , isOfOrganizations]) =>
			includes(scopes, scope) && !(isOfOrganizations && isOfProjects),
	);
	return fits?.[1];
}

/** Sends a request with the new key. */
async function request(path: string, value: string) {
	const response = await fetch(path, { headers: { authorization: `Bearer ${value}` } });
	const body: unknown = await response.json();
	const { detail } = Object(body);
	return { ok: response.ok, status: response.status, detail: response.ok ? "" : String(detail) };
}

function Try({ path, value }: { path: string; value: string }) {
	const [response, setResponse] = useState<Awaited<ReturnType<typeof request>>>();
	return (
		<div class="row">
			<SecondaryButton onPress={async () => setResponse(await request(path, value))}>
				Send from this browser
			</SecondaryButton>
			<span role="status">
				{response && (
					<>
						<Badge mood={response.ok ? "good" : "bad"}>{response.status}</Badge>{" "}
						{response.ok ? "The key works." : response.detail}
					</>
				)}
			</span>
		</div>
	);
}

/** Shows the value of a new or rolled key, which the API returns only once. */
export function Made({
	made,
	organization,
}: {
	made: PersonalApiKey;
	organization: string | undefined;
}) {
	const panel = useRef<HTMLElement>(null);
	useEffect(() => panel.current?.focus(), []);
	const value = made.value ?? "";
	const path = pathFor(made, organization);
	const url = path && `${location.origin}${path}`;
	return (
		<section class="panel key-made" ref={panel} tabIndex={-1} aria-label="The key's value">
			<p>
				<strong>Copy the value now.</strong> It won't be shown again.
			</p>
			<div class="key-made-value">
				<code>{value}</code>
				<Copy value={value} label="Copy value" />
			</div>
			{path && url && (
				<>
					<p class="key-made-try">Try it</p>
					<Snippet
						value={`curl "${url}" \\\n  -H "Authorization: Bearer ${value}"`}
						label="Copy command"
					/>
					<Try path={path} value={value} />
				</>
			)}
		</section>
	);
}
