import { signal } from "@preact/signals";
import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect } from "preact/hooks";
import { useLocation } from "preact-iso/router";
import { type Me, type Organization, TenantryError } from "tenantry-client";
import { type Access, isGiven, loadOrganization } from "./access.ts";
import { useLoad } from "./load.ts";
import { api, organizationOf, reloadMe } from "./session.ts";
import { confirm } from "./ui/dialog.tsx";
import { Problem, Show, say } from "./ui/feedback.tsx";
import { PageView } from "./ui/page.tsx";

type Context = {
	organization: Organization;
	/** The parameter of calls in this organization. */
	at: { organization: string };
	/** Loads the organization again after a change. */
	reloadOrganization: () => Promise<unknown>;
	/**
	 * Whether the user is an admin or owner. Buttons that the user isn't allowed to use are hidden.
	 */
	isAdmin: boolean;
	isOwner: boolean;
	/** Whether the user may see what belongs to members: an admin, or whoever may view people. */
	seesMembers: boolean;
	access: Access;
	/** Returns the path of a page of this organization: `to("members")`. */
	to: (path?: string) => string;
};

const Current = createContext<Context | undefined>(undefined);

/** Returns the path of a page of an organization, such as `/console/<id>/members`. */
export const pathIn = (organization: string, path = "") =>
	path ? `/console/${organization}/${path}` : `/console/${organization}`;

/** Returns the id of the organization in a path; undefined on other pages. */
export const organizationIn = (path: string) =>
	/^\/console\/([\da-f-]{36})(?:\/|$)/.exec(path)?.[1];

/** The name under which the browser stores the organization last visited. */
const VISITED = "tenantry.organization";

/** The id of the organization whose pages this tab, or else another one, showed last. */
const visited = signal(localStorage.getItem(VISITED));

function remember(id: string) {
	visited.value = id;
	localStorage.setItem(VISITED, id);
}

/** Returns the id of the organization for pages that aren't below one: the one last visited. */
export function usualOrganization(user: Me) {
	const isMember = user.organizations.some(({ id }) => id === visited.value);
	return isMember && visited.value ? visited.value : organizationOf(user)?.id;
}

/** Replaces the pages of an organization that can't be loaded. */
const Unavailable = ({ error, retry }: { error: Error; retry: () => void }) =>
	error instanceof TenantryError && error.status === 404 ? (
		<PageView title="Organization not found">
			<p>
				It doesn't exist, or you aren't a member of it. <a href="/console">Go to the overview</a>.
			</p>
		</PageView>
	) : (
		<PageView title="Can't load this organization">
			<Problem error={error} retry={retry} />
		</PageView>
	);

export function InOrganization({ id, children }: { id: string; children: ComponentChildren }) {
	const loaded = useLoad((signal) => loadOrganization(id, signal), [id]);
	useEffect(() => remember(id), [id]);
	if (loaded.error && !loaded.data)
		return <Unavailable error={loaded.error} retry={loaded.reload} />;
	return (
		<Show of={loaded}>
			{({ organization, access }) => (
				<Current.Provider
					value={{
						organization,
						at: { organization: id },
						reloadOrganization: loaded.reload,
						isAdmin: organization.membership_level >= 8,
						isOwner: organization.membership_level >= 15,
						seesMembers:
							organization.membership_level >= 8 || isGiven(access, "organization_member"),
						access,
						to: (path) => pathIn(id, path),
					}}
				>
					{children}
				</Current.Provider>
			)}
		</Show>
	);
}

/** Returns a function that asks whether to leave the organization, and leaves it. */
export function useLeave() {
	const { organization, at } = useOrganization();
	const goHome = useGoHome();
	return async () => {
		const isSure = await confirm({
			title: `Leave ${organization.name}?`,
			text: "You lose access immediately, and your API keys no longer work in it. To return, you need an invite.",
			action: "Leave organization",
		});
		if (!isSure) return;
		await api.members.remove({ ...at, user: "@me" });
		await goHome(`You left ${organization.name}.`);
	};
}

/**
 * Returns a function to call when the user has lost the organization. It opens another one, unless
 * it is open already.
 */
export function useGoHome() {
	const { organization } = useOrganization();
	const { route } = useLocation();
	return async (note: string) => {
		await reloadMe();
		say(note);
		if (organizationIn(location.pathname) === organization.id) route("/console");
	};
}

/** Returns the organization in the URL, and the user's permissions there. */
export function useOrganization() {
	const context = useContext(Current);
	if (!context) throw new Error("This page isn't below an organization.");
	return context;
}
