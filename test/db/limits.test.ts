import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { furnished } from "../support/world.ts";

type Home = Awaited<ReturnType<typeof furnished>>;

type Kind = {
	/** The path of the list. */
	path: (home: Home) => string;
	/** Where they are created, if that is another path. */
	create?: (home: Home) => string;
	body: (i: number, home: Home) => object;
};

/**
 * The kinds of objects of which an organization can have a limited number, and how one is created.
 */
const KINDS: Record<string, Kind> = {
	domains: {
		path: ({ id }) => `/api/organizations/${id}/domains`,
		body: (i) => ({ domain: `limited-${i}.example.com` }),
	},
	exports: {
		path: ({ project }) => `/api/projects/${project}/batch_exports`,
		body: (i) => ({ name: `Export ${i}`, destination: { type: "NoOp" }, interval: "hour" }),
	},
	plugins: {
		path: ({ id }) => `/api/organizations/${id}/plugins`,
		create: ({ id }) => `/api/organizations/${id}/pipeline_destinations`,
		body: (i) => ({ name: `Plugin ${i}` }),
	},
	"plugin configs": {
		path: ({ project }) => `/api/projects/${project}/plugin_configs`,
		body: (i, { importer }) => ({ plugin: importer, order: i }),
	},
	"registered apps": {
		path: ({ id }) => `/api/organizations/${id}/oauth_clients`,
		body: (i) => ({ name: `App ${i}`, redirect_uris: [`https://app-${i}.example.com/callback`] }),
	},
	webhooks: {
		path: ({ id }) => `/api/organizations/${id}/webhooks`,
		body: () => ({ url: `${env.RECEIVER_URL}/hooks/limited`, enabled: false }),
	},
	"audit streams": {
		path: ({ id }) => `/api/organizations/${id}/audit_streams`,
		body: (i) => ({
			name: `Stream ${i}`,
			enabled: false,
			destination: { type: "R2", config: { prefix: "limited" } },
		}),
	},
	projects: {
		path: ({ id }) => `/api/organizations/${id}/projects`,
		body: (i) => ({ name: `Project ${i}` }),
	},
	"service accounts": {
		path: ({ id }) => `/api/organizations/${id}/service_accounts`,
		body: (i) => ({ name: `Account ${i}` }),
	},
	"trusted issuers": {
		path: ({ id, account }) =>
			`/api/organizations/${id}/service_accounts/${account}/trusted_issuers`,
		body: (i) => ({
			name: `Builds ${i}`,
			issuer: "https://192.0.2.1",
			subject: "sub",
			scopes: ["project:read"],
		}),
	},
};

const limit = (n: number) => ({ OBJECTS_PER_ORGANIZATION: String(n) });

test.each(Object.entries(KINDS))(
	"an organization has a limited number of %s, also if requests race",
	async (_, kind) => {
		const home = await furnished();
		const path = kind.path(home);
		const count = async () => (await home.ask("GET", path)).body.count;
		const create = (i: number, n: number) =>
			home.ask("POST", kind.create?.(home) ?? path, { body: kind.body(i, home), env: limit(n) });
		const before = await count();
		const both = await Promise.all([create(1, before + 1), create(2, before + 1)]);
		expect(both.map(({ status }) => status).toSorted()).toEqual([201, 409]);
		expect(both.find(({ status }) => status === 409)?.body).toMatchObject({
			type: "invalid_request",
			code: "limit_reached",
			attr: null,
		});
		expect(await count()).toBe(before + 1);
		expect((await create(3, before + 2)).status).toBe(201);
	},
);
