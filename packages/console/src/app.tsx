import { useEffect } from "preact/hooks";
import { ErrorBoundary } from "preact-iso/lazy";
import { LocationProvider, Route, Router, useLocation, useRoute } from "preact-iso/router";
import { useLoad } from "./load.ts";
import { InOrganization, pathIn } from "./organization.tsx";
import { organizationPages, ownPages, SignIn } from "./pages.ts";
import { isSignedIn, me, reloadMe } from "./session.ts";
import { Shell } from "./shell.tsx";
import { Empty, Show } from "./ui/feedback.tsx";
import { PageView } from "./ui/page.tsx";

const NotFound = () => (
	<PageView title="There is no such page">
		<p>
			Perhaps it was removed. <a href="/console">Go to the overview</a>.
		</p>
	</PageView>
);

/** `/console` leads to the organization that the user works in. */
function Home() {
	const { route } = useLocation();
	const user = me.value;
	const id = user?.organization?.id ?? user?.organizations[0]?.id;
	useEffect(() => {
		if (id) route(pathIn(id), true);
	}, [id]);
	return id ? null : (
		<PageView title="Welcome">
			<Empty title="You are in no organization">
				<p>Ask an administrator for an invite, or make an organization of your own.</p>
			</Empty>
		</PageView>
	);
}

function OrganizationPages() {
	const { organization = "" } = useRoute().params;
	return (
		<InOrganization key={organization} id={organization}>
			<Router>
				{organizationPages.map(([path, Page]) => (
					<Route key={path} path={path} component={Page} />
				))}
				<Route default component={NotFound} />
			</Router>
		</InOrganization>
	);
}

function SignedIn() {
	const user = useLoad(() => reloadMe(), []);
	return (
		<Shell>
			<Show of={user}>
				{() => (
					<Router>
						<Route path="/console" component={Home} />
						{ownPages.map(([path, Page]) => (
							<Route key={path} path={path} component={Page} />
						))}
						<Route path="/console/:organization/*" component={OrganizationPages} />
						<Route default component={NotFound} />
					</Router>
				)}
			</Show>
		</Shell>
	);
}

/** Signing in leads on to the page that was asked for: the URL stays. */
const Session = () => (isSignedIn.value ? <SignedIn /> : <SignIn />);

export const App = () => (
	<LocationProvider scope="/console">
		<ErrorBoundary>
			<Session />
		</ErrorBoundary>
	</LocationProvider>
);
