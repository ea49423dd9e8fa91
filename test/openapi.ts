import { beforeAll, expect, test } from "vitest";
import type { operations } from "./support/contract.ts";
import { subject, type World } from "./support/routes.ts";
import { call, furnished, keyFor } from "./support/world.ts";

type Operations = typeof operations;

const empty = (method: string) => (method === "GET" ? {} : { body: {} });

const IMPOSSIBLE = ["x", "%00", "9".repeat(40)];

/** Only for GETs: the other operations find their object in the same way. */
const ALSO_IMPOSSIBLE = ["0", "'", "-1", "1e3", "../x"];

/** Tests that the service does with requests what the document says. */
export function testDocument(tested: Operations) {
	const guarded = tested.filter(({ scopes }) => scopes !== "");

	let home: World;
	beforeAll(async () => {
		home = await furnished();
	});

	/** The path of an operation. `ids` replaces the values of its parameters. */
	const address = (path: string, ids: Record<string, string> = {}) =>
		path.replace(/\{(\w+)\}/g, (_, name: string) => {
			const known: Record<string, string | number> = {
				organization_id: home.id,
				project_id: home.project,
				user_uuid: home.member,
				user__uuid: home.member,
				uuid: "@me",
				plugin_config_id: home.config,
				run_id: path.endsWith("/retry") ? home.ended_run : home.run,
				backfill_id: home.backfill,
				delivery_id: home.delivery,
				service_account_id: home.account,
				domain_id: home.domain,
				id: subject(path, home),
				token: "x".repeat(43),
			};
			return encodeURIComponent(ids[name] ?? String(known[name]));
		});

	test.each(guarded.filter((item) => item.operation.requestBody))(
		"$method $path: a body is required if the document says so",
		async (item) => {
			// A run can be retried once.
			if (item.path.endsWith("/retry")) home = await furnished();
			const key = await keyFor(home.owner.id);
			const { status, body } = await call(item.method, address(item.path), {
				key,
			});
			// The owner has a passkey, which others who have no second factor needn't prove.
			const isMissing = body?.attr !== null && body?.code !== "two_factor_required";
			const missing = status === 400 && isMissing;
			expect(missing || body?.code === "invalid_input").toBe(item.operation.requestBody?.required);
		},
	);

	test.each(guarded.filter(({ path }) => path.includes("{")))(
		"$method $path: a malformed id is a 404",
		async (item) => {
			const key = await keyFor(home.owner.id);
			const names = [...item.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
			for (const name of names)
				for (const id of [...IMPOSSIBLE, ...(item.method === "GET" ? ALSO_IMPOSSIBLE : [])]) {
					const at = address(item.path, { [name ?? ""]: id });
					expect(await call(item.method, at, { key, ...empty(item.method) })).toMatchObject({
						status: 404,
					});
				}
		},
	);

	const paths = Map.groupBy(tested, ({ path }) => path);
	test.each([...paths])(
		"%s accepts the methods in the document, and lists them in Allow",
		async (path, documented) => {
			const open = documented.every(({ scopes }) => scopes === "");
			const key = open ? undefined : await keyFor(home.owner.id);
			const methods = documented.map(({ method }) => method);
			const allowed = methods.includes("GET") ? [...methods, "HEAD"] : methods;
			for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
				if (methods.includes(method)) continue;
				const { status, headers } = await call(method, address(path), {
					key,
					...empty(method),
				});
				expect(status).toBe(405);
				expect(headers.get("allow")?.split(", ").sort()).toEqual([...allowed].sort());
			}
		},
	);
}
