import { clientOf } from "tenantry-user-agent";

/** Returns the browser of a session, such as "Firefox 140, Linux". */
export const deviceOf = ({ user_agent }: { user_agent: string | null }) =>
	user_agent === null ? "Unknown browser" : clientOf(user_agent);
