import { type ComponentChildren, createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Organization, Received } from "tenantry-client";
import { useLoad } from "./load.ts";
import { api } from "./session.ts";
import { Show } from "./ui/feedback.tsx";

type Context = {
	organization: Received<Organization, "organizations">;
	/** Loads it again, after something about it has changed. */
	reloadOrganization: () => Promise<unknown>;
	/** Whether the caller is an admin or owner: others get no buttons for what they may not do. */
	isAdmin: boolean;
	isOwner: boolean;
	/** The path of a page of this organization: `to("members")`. */
	to: (path?: string) => string;
};

const Current = createContext<Context | undefined>(undefined);

/** The path of a page of an organization, such as `/console/<id>/members`. */
export const pathIn = (organization: string, path = "") =>
	path ? `/console/${organization}/${path}` : `/console/${organization}`;

/** The id of an organization in the path of a page; undefined on other pages. */
export const organizationIn = (path: string) =>
	/^\/console\/([\da-f-]{36})(?:\/|$)/.exec(path)?.[1];

/** Loads the organization that the URL names, for the pages below it. */
export function InOrganization({ id, children }: { id: string; children: ComponentChildren }) {
	const loaded = useLoad((signal) => api.organizations.get({ id }, { signal }), [id]);
	return (
		<Show of={loaded}>
			{(organization) => (
				<Current.Provider
					value={{
						organization,
						reloadOrganization: loaded.reload,
						isAdmin: organization.membership_level >= 8,
						isOwner: organization.membership_level >= 15,
						to: (path) => pathIn(id, path),
					}}
				>
					{children}
				</Current.Provider>
			)}
		</Show>
	);
}

/** The organization that the URL names, and what the caller may do there. */
export function useOrganization() {
	const context = useContext(Current);
	if (!context) throw new Error("This page isn't below an organization.");
	return context;
}
