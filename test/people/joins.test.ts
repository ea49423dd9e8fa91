import { expect, onTestFinished, test, vi } from "vitest";
import { finish, who, withDomain } from "../sign_in/oidc/support.ts";
import { provisioned, send } from "../support/scim.ts";
import { hook } from "../support/webhooks.ts";
import { call, person } from "../support/world.ts";
import { accept, createInvite } from "./invites/support.ts";

type Home = Awaited<ReturnType<typeof withDomain>>;

/** How people become members, each with what their event says besides `via`. Returns their name. */
const WAYS: Record<string, (home: Home) => Promise<{ name: string; trigger?: object }>> = {
	invite: async (home) => {
		const { token, target_email } = await createInvite(home);
		expect((await accept(token)).status).toBe(200);
		return { name: target_email };
	},
	sso: async (home) => {
		const { connection, email, ...claims } = who(home);
		await finish(home, { connection, email, ...claims });
		return { name: email, trigger: { job: "sign_in", connection } };
	},
	scim: async (home) => {
		const { body } = await home.here("POST", `/domains/${home.domain_id}/scim/tokens`);
		const userName = `grace@${home.domain}`;
		const added = await send(home.domain_id, "POST", "/Users", {
			token: body.value,
			body: { userName },
		});
		expect(added.status).toBe(201);
		return { name: userName, trigger: { job_type: "scim", token_id: body.id } };
	},
	service_account: async (home) => {
		const added = await home.here("POST", "/service_accounts", { body: { name: "Deploy" } });
		expect(added.status).toBe(201);
		return { name: "Deploy" };
	},
};

test.each(Object.keys(WAYS))("joining by %s is one event that says so", async (via) => {
	const home = await withDomain({ jit_provisioning_enabled: true });
	const { idle, messages } = await hook(home, "", { types: ["member.*"] });
	const joined = await WAYS[via]?.(home);
	await idle();
	const sent = (await messages()).map(({ text }) => JSON.parse(text ?? ""));
	const trigger = { via, ...joined?.trigger };
	expect(sent.map(({ type, data }) => [type, data.name, data.trigger])).toEqual([
		["member.created", joined?.name, trigger],
	]);
	const { body } = await home.here("GET", "/events?types=member.created");
	expect(body.results.map(({ id }: { id: string }) => id)).toEqual([sent[0].id]);
	const log = await home.here("GET", "/activity_log?scope=Member");
	expect(log.body.results).toMatchObject([
		{ activity: "created", item_id: sent[0].data.item_id, detail: { trigger } },
	]);
});

test("a join is delivered at once, also where its entries are made in different milliseconds", async () => {
	const home = await withDomain({ jit_provisioning_enabled: true });
	const { idle, types } = await hook(home, "", { types: ["member.*"] });
	const { toISOString } = Date.prototype;
	let elapsed = 0;
	const clock = vi.spyOn(Date.prototype, "toISOString").mockImplementation(function (this: Date) {
		elapsed += 1;
		return toISOString.call(new Date(this.getTime() + elapsed));
	});
	onTestFinished(() => clock.mockRestore());
	await WAYS.sso?.(home);
	clock.mockRestore();
	await idle();
	expect(await types()).toEqual(["member.created"]);
});

test("creating an organization is an event of the organization, and one of its creator's", async () => {
	const { key, email } = await person();
	const { body } = await call("POST", "/api/organizations", { key, body: { name: "Acme" } });
	const feed = await call("GET", `/api/organizations/${body.id}/events`, { key });
	expect(
		feed.body.results.map(({ type, data }: { type: string; data: object }) => ({ type, ...data })),
	).toMatchObject([
		{ type: "organization.created", name: "Acme", trigger: null },
		{ type: "member.created", name: email, trigger: { via: "creation" } },
	]);
	const members = await call("GET", `/api/organizations/${body.id}/members`, { key });
	expect(feed.body.results[1].data.item_id).toBe(members.body.results[0].id);
});

test("who returns through SCIM joins again", async () => {
	const { add, patch, here } = await provisioned();
	const { id, userName } = await add();
	for (const value of [false, true])
		await patch(`/Users/${id}`, { op: "replace", path: "active", value });
	const { body } = await here("GET", "/events?types=member.*");
	const kinds = body.results.map(({ type, data }: { type: string; data: { name: string } }) => [
		type,
		data.name,
	]);
	expect(kinds).toEqual([
		["member.created", userName],
		["member.deleted", userName],
		["member.created", userName],
	]);
	expect(body.results.at(-1).data.trigger).toMatchObject({ via: "scim", job_type: "scim" });
});
