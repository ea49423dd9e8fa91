/**
 * The question before another user's session replaces the current one (docs/console.md#signing-in).
 */
import type { Me } from "tenantry-client";
import { organizationIn } from "./organization.tsx";
import { type Change, organizationOf } from "./session.ts";
import { confirm, mayDiscard } from "./ui/dialog.tsx";
import { Facts } from "./ui/values.tsx";

/** Returns the organization whose page is open, if it is one of the user's. */
const openOf = ({ organizations }: Me) =>
	organizations.find(({ id }) => id === organizationIn(location.pathname));

const Account = ({ email, organization }: Change["next"]) => (
	<>
		<strong>{email}</strong>
		<br />
		{organization ?? "No organization"}
	</>
);

/**
 * Asks whether `next` may take the place of `current`. Anyone can send a link that signs in to
 * their own account, so that others enter data there.
 */
export const mayReplace = async ({ current, next }: Change) =>
	(await mayDiscard()) &&
	confirm({
		title: "Replace your session?",
		text: (
			<>
				<p>
					You opened a link that ends this session and starts a new one. If you didn't expect this,
					stay signed in.
				</p>
				<Facts
					rows={[
						[
							"This session",
							<Account
								email={current.email}
								organization={(openOf(current) ?? organizationOf(current))?.name}
							/>,
						],
						["New session", <Account {...next} />],
					]}
				/>
			</>
		),
		action: "Replace session",
		stay: "Stay signed in",
	});
