import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { address } from "../support/routes.ts";
import { call, furnished } from "../support/world.ts";
import { attacker, changes, dump, LIMITLESS, sweep } from "./attacker.ts";

test.each(["none", "viewer", "auditor"])(
	"a %s of level 1 with a full key who calls all operations changes nothing",
	async (kind) => {
		const home = await furnished();
		const { key } = await attacker(home, kind);
		const before = await dump();
		const allowed: string[] = [];
		for (const { method, path, body } of changes) {
			const { status } = await call(method, address(path, home), {
				key,
				env: LIMITLESS,
				...(body && { body: body(home) }),
			});
			if (status < 300) allowed.push(`${method} ${path}`);
		}
		// Without orders, it changes nothing.
		const harmless = "PATCH /api/projects/:project_id/plugin_configs/rearrange";
		expect(allowed).toEqual(kind === "none" ? [] : [harmless]);
		expect(await dump()).toEqual(before);
	},
);

test.each(["member", "everyone"])(
	"with access to nothing, given to the %s, all operations tell nothing of others",
	async (to) => {
		const home = await furnished();
		const name = "What nobody else may read";
		for (const table of [
			"batch_exports",
			"plugins",
			"plugin_configs",
			"service_accounts",
			"projects",
		])
			await env.DB.prepare(`update ${table} set name = ?`).bind(name).run();
		const { batch_export, run, backfill, webhook, delivery, domain, invite, account } = home;
		const { account_key, trusted_issuer, client, audit_stream, role, access_control, member } =
			home;
		const secrets = Object.entries({
			...{ batch_export, run, backfill, webhook, delivery, domain, invite, account, account_key },
			...{ trusted_issuer, client, audit_stream, role, access_control, member, name },
			owner: home.owner.email,
		});
		const everything = new Set((await sweep(home, home.key, secrets)).map(({ what }) => what));
		expect(everything).toEqual(new Set(secrets.map(([what]) => what)));
		const { key } = await attacker(home, "none", to);
		expect(await sweep(home, key, secrets)).toEqual([]);
	},
);
