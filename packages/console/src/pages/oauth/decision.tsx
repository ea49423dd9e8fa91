import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { DeviceRequest } from "tenantry-client";
import { me, organizationOf } from "../../session.ts";
import { Form, Group, rejection, Select, text, texts } from "../../ui/form.tsx";
import { ScopeLevels } from "../../ui/scope_levels.tsx";
import type { Scope } from "../../ui/scopes.ts";
import { Places } from "./places.tsx";

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

/** What a person allows an app. */
type Choice = {
	scopes: Scope[];
	scoped_organizations: string[];
	scoped_projects: number[];
	ends_at: string | null;
};

/** Who is responsible for the app. */
function Who({ app: { client_host, client_organization } }: { app: DeviceRequest }) {
	if (client_host !== null)
		return (
			<>
				An app of <strong>{client_host}</strong>
			</>
		);
	if (client_organization !== null)
		return (
			<>
				An app that the organization <strong>{client_organization}</strong> has registered
			</>
		);
	return (
		<>
			An app <strong>that nobody vouches for</strong>, because it has registered itself,
		</>
	);
}

/**
 * The decision about an app. It says who asks, in words that the app can't choose.
 * @param children where the app continues
 */
export function Decision({
	app,
	onAllow,
	onCancel,
	children,
}: {
	app: DeviceRequest;
	onAllow: (choice: Choice) => Promise<unknown>;
	onCancel: () => void;
	children: ComponentChildren;
}) {
	const [scopes, setScopes] = useState<readonly Scope[]>(app.scopes);
	const user = me.value;
	if (!user) return null;

	async function allow(fields: FormData) {
		if (scopes.length === 0) throw rejection("scopes", "Leave at least one permission.");
		const organization = text(fields, "organization");
		await onAllow({
			scopes: [...scopes],
			scoped_organizations: organization === "" ? [] : [organization],
			scoped_projects: texts(fields, "project").map(Number),
			ends_at: endIn(fields),
		});
	}
	return (
		<Form action="Allow" asks={false} onSubmit={allow} onCancel={onCancel}>
			<p>
				<Who app={app} /> asks for access to your account {user.email}. It calls itself “
				{app.client_name}”. Allow it only if you were just using it.
			</p>
			<p>{children}</p>
			<Group name="scopes" label="What it may do">
				<ScopeLevels scopes={scopes} most={app.scopes} onChange={setScopes} />
			</Group>
			<Places organizations={user.organizations} first={organizationOf(user)?.id} />
			<Select name="ends_at" label="Its access ends" defaultValue="" options={ENDS} />
		</Form>
	);
}
