import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type DeviceRequest, TenantryError } from "tenantry-client";
import { usualOrganization } from "../../organization.tsx";
import { me } from "../../session.ts";
import { Check, Form, Group, rejection, Select, text, texts } from "../../ui/form.tsx";
import { ScopeLevels } from "../../ui/scope_levels.tsx";
import { dangerousIn, harmlessIn, readingIn, type Scope } from "../../ui/scopes.ts";
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

/** Throws the error of a choice, in the words of the form. */
function explain(error: unknown): never {
	if (!(error instanceof TenantryError)) throw error;
	if (error.code === "expiry_required")
		throw rejection("ends_at", "Choose when it ends: an organization of yours requires that.");
	if (error.attr?.startsWith("scoped_organizations")) throw rejection("organization", error.detail);
	throw error;
}

/** The access that a person allows an app. */
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
	const most = harmlessIn(app.scopes);
	const dangerous = dangerousIn(app.scopes);
	const [scopes, setScopes] = useState<readonly Scope[]>(readingIn(most));
	const user = me.value;
	if (!user) return null;

	async function allow(fields: FormData) {
		const chosen = texts(fields, "dangerous");
		const added = dangerous.flatMap(([scope]) => (chosen.includes(scope) ? [scope] : []));
		if (scopes.length + added.length === 0)
			throw rejection("scopes", "Choose at least one permission.");
		const organization = text(fields, "organization");
		const allowing = onAllow({
			scopes: added.includes("*") ? ["*"] : [...scopes, ...added],
			scoped_organizations: organization === "" ? [] : [organization],
			scoped_projects: texts(fields, "project").map(Number),
			ends_at: endIn(fields),
		});
		await allowing.catch(explain);
	}
	return (
		<Form action="Allow" asks={false} onSubmit={allow} onCancel={onCancel}>
			<p>
				<Who app={app} /> asks for access to your account {user.email}. It calls itself “
				{app.client_name}”. Allow it only if you were just using it.
			</p>
			<p>{children}</p>
			<Group
				name="scopes"
				label="What it may do"
				hint="Choose Write only where the app has to change something."
			>
				<ScopeLevels scopes={scopes} most={most} onChange={setScopes} />
			</Group>
			{dangerous.length > 0 && (
				<Group
					label="Dangerous permissions"
					hint="The app also asks for these, which concern your keys and whole organizations. Few apps need them."
				>
					{dangerous.map(([scope, words]) => (
						<Check key={scope} name="dangerous" value={scope} label={words} />
					))}
				</Group>
			)}
			<Places organizations={user.organizations} first={usualOrganization(user)} />
			<Select name="ends_at" label="Its access ends" defaultValue="" options={ENDS} />
		</Form>
	);
}
