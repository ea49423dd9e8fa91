import { type ComponentChildren, type ComponentType, createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { ErrorBoundary } from "preact-iso/lazy";
import { exec, LocationProvider, Route, Router, useLocation, useRoute } from "preact-iso/router";
import type { Me } from "tenantry-client";
import { type Loaded, useLoad } from "./load.ts";
import { InOrganization, organizationIn, pathIn, usualOrganization } from "./organization.tsx";
import { organizationPages, ownPages, SignIn } from "./pages.ts";
import { endedSessions, isSignedIn, me, reloadMe } from "./session.ts";
import { Shell } from "./shell.tsx";
import { Questions } from "./ui/dialog.tsx";
import { Empty, Notes, Show } from "./ui/feedback.tsx";
import { PageView } from "./ui/page.tsx";
import { WithAccess } from "./with_access.tsx";

const NotFound = () => (
	<PageView title="Page not found">
		<p>
			This page doesn't exist. <a href="/console">Go to the overview</a>.
		</p>
	</PageView>
);

/** The signed-in user, who is loaded in parallel with the page and its organization. */
const User = createContext<Loaded<Me> | undefined>(undefined);

function WithUser({ children }: { children: ComponentChildren }) {
	const user = useContext(User);
	return user ? <Show of={user}>{() => children}</Show> : null;
}

/** Wraps a page that requires the user. */
const withUser = (Page: ComponentType) => () => (
	<WithUser>
		<Page />
	</WithUser>
);

/** `/console` redirects to the organization that the user visited last. */
const Home = withUser(() => {
	const { route } = useLocation();
	const user = me.value;
	const id = user && usualOrganization(user);
	useEffect(() => {
		if (id) route(pathIn(id), true);
	}, [id]);
	return id || !user ? null : (
		<PageView title="Welcome">
			<Empty title="You aren't in an organization yet">
				<p>Create an organization, or ask an admin of an organization to invite you.</p>
				<p>
					<a class="button" href="/console/new">
						New organization
					</a>
				</p>
			</Empty>
		</PageView>
	);
});

const own = ownPages.map(([path, Page]) => [path, withUser(Page)] as const);

function OrganizationPages() {
	const { organization = "" } = useRoute().params;
	return (
		<InOrganization key={organization} id={organization}>
			<WithUser>
				<WithAccess>
					<Router>
						{organizationPages.map(([path, Page]) => (
							<Route key={path} path={path} component={Page} />
						))}
						<Route default component={NotFound} />
					</Router>
				</WithAccess>
			</WithUser>
		</InOrganization>
	);
}

/** Starts loading the page of a path, so that it doesn't wait for the organization. */
function preload(path: string) {
	if (!organizationIn(path)) return;
	const below = `/${path.split("/").slice(3).join("/")}`;
	const [, Page] = organizationPages.find(([pattern]) => exec(below, pattern)) ?? [];
	Page?.preload();
}

function SignedIn() {
	const { path } = useLocation();
	useState(() => preload(path));
	const user = useLoad(async () => me.value ?? reloadMe(), []);
	return (
		<User.Provider value={user}>
			<Shell>
				<Router>
					<Route path="/console" component={Home} />
					{own.map(([path, Page]) => (
						<Route key={path} path={path} component={Page} />
					))}
					<Route path="/console/:organization" component={OrganizationPages} />
					<Route path="/console/:organization/*" component={OrganizationPages} />
					<Route default component={NotFound} />
				</Router>
			</Shell>
		</User.Provider>
	);
}

/**
 * After signing in, the user sees the page in the URL, which stays the same. Links in mails have
 * their own path. The key makes another session begin with new pages, even if nothing is drawn
 * between the two.
 */
function Session() {
	const { path } = useLocation();
	return isSignedIn.value && path !== "/console/sign_in" ? (
		<SignedIn key={endedSessions.value} />
	) : (
		<SignIn />
	);
}

export const App = () => (
	<LocationProvider scope="/console">
		<ErrorBoundary>
			<Session />
			<Notes />
			<Questions />
		</ErrorBoundary>
	</LocationProvider>
);
