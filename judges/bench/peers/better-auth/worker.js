/** better-auth with its organization and api-key plugins, on D1 with better-auth's own dialect. */
import { apiKey } from "@better-auth/api-key";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { organization } from "better-auth/plugins";

const UNLIMITED = 1_000_000_000;

const options = (DB) => ({
	baseURL: "http://localhost",
	secret: "a secret for a benchmark, of more than 32 characters",
	database: DB,
	emailAndPassword: { enabled: true },
	telemetry: { enabled: false },
	// The plugin applies a rate limit to each key, like the other services.
	rateLimit: { enabled: false },
	plugins: [
		organization({ membershipLimit: UNLIMITED, invitationLimit: UNLIMITED }),
		apiKey({
			enableSessionForAPIKeys: true,
			rateLimit: { enabled: true, timeWindow: 60_000, maxRequests: UNLIMITED },
		}),
	],
});

/** Instances, which the isolate caches per database. */
const instances = new WeakMap();

function authOf(DB) {
	if (!instances.has(DB)) instances.set(DB, betterAuth(options(DB)));
	return instances.get(DB);
}

/** Creates the tables, a user, an organization that the user owns, and a key. */
async function setUp(DB) {
	const { runMigrations } = await getMigrations(options(DB));
	await runMigrations();
	const { api } = authOf(DB);
	const { user } = await api.signUpEmail({
		body: { name: "Ada Owner", email: "owner-1@example.com", password: "a long password" },
	});
	const { id } = await api.createOrganization({
		body: { name: "Acme", slug: "acme", userId: user.id },
	});
	const { key } = await api.createApiKey({ body: { name: "Bench", userId: user.id } });
	return { organization: id, key };
}

export default {
	async fetch(request, { DB }) {
		const { pathname } = new URL(request.url);
		if (pathname === "/bench/setup") return Response.json(await setUp(DB));
		return authOf(DB).handler(request);
	},
};
