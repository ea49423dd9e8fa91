import { exports } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { PreconditionFailedError, Tenantry, verifyWebhook } from "../packages/client/src/index.ts";
import { world } from "./support/world.ts";

test("the client works in a Worker", async () => {
	const { owner, id: organization } = await world();
	const tenantry = new Tenantry({
		baseUrl: "https://tenantry.test",
		key: owner.key,
		fetch: (url, init) => exports.default.fetch(new Request(url, init)),
	});
	const project = await tenantry.organizationProjects.create({ organization }, { name: "New" });
	const names: string[] = [];
	for await (const { name } of tenantry.organizationProjects.list({ organization, limit: 1 }))
		names.push(name);
	expect(names[0]).toBe("New");
	expect(names.length).toBeGreaterThan(1);
	const seen = await tenantry.organizationProjects.get(project);
	await tenantry.organizationProjects.update(project, { name: "Newer" });
	await expect(tenantry.organizationProjects.update(seen, { name: "Newest" })).rejects.toThrow(
		PreconditionFailedError,
	);
	await tenantry.organizationProjects.delete(project);
});

test("webhooks are verified in a Worker", async () => {
	const secret = `whsec_${btoa("a secret of thirty-two bytes....")}`;
	const now = new Date();
	const headers = new Headers({
		"webhook-id": "msg_1",
		"webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
		"webhook-signature": new Webhook(secret).sign("msg_1", now, '{"type":"member.updated"}'),
	});
	expect(await verifyWebhook('{"type":"member.updated"}', headers, secret)).toEqual({
		type: "member.updated",
	});
});
