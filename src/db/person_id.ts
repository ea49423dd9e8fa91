import { v5 } from "uuid";

/** The namespace of derived person ids (RFC 9562, 5.5). */
const NAMESPACE = "4f3f0c5e-35c7-4a5d-9c0b-6ad1e1d7a2c9";

/** Returns the id of a person for whom no id was sent (docs/exports.md#events). */
export const derivePersonId = (team_id: number, distinct_id: string) =>
	v5(`${team_id}:${distinct_id}`, NAMESPACE);
