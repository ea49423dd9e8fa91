import { describe, expect, test, vi } from "vitest";
import { outbox } from "../support/mail.ts";
import { eventually } from "../support/time.ts";
import { call, join, world } from "../support/world.ts";

test.each([{}, { "content-length": "50" }])(
	"a body gets a 400, not a 500, if the client disconnects before its end, with headers %j",
	async (length) => {
		const { ask } = await world();
		const error = vi.spyOn(console, "error");
		const raw = new ReadableStream({
			pull(controller) {
				controller.enqueue(new TextEncoder().encode('{"name": '));
				controller.error(new Error("Network connection lost."));
			},
		});
		const response = await ask("POST", "/api/organizations", {
			raw,
			headers: { "content-type": "application/json", ...length },
			env: {},
		});
		expect(response).toMatchObject({
			status: 400,
			body: {
				code: "parse_error",
				detail: "JSON parse error - The body ended too early.",
			},
		});
		expect(error).not.toHaveBeenCalled();
		error.mockRestore();
	},
);

describe("checks of access come before those of the body", () => {
	const statuses = [
		[400, { raw: "{", headers: { "content-type": "application/json" } }],
		[415, { raw: "x", headers: { "content-type": "text/plain" } }],
		[400, { body: { name: 7 } }],
		[413, { body: { name: "x".repeat(2 ** 20) } }],
	] as const;
	const bad = statuses.map(([_, request]) => request);

	test("a stranger gets a 404, a member a 403, an admin the 400, 413 or 415", async () => {
		const { id } = await world();
		const path = `/api/organizations/${id}`;
		const [stranger, member, admin] = [
			(await world()).key,
			(await join(id, 1)).key,
			(await join(id, 8)).key,
		];
		for (const [status, request] of statuses) {
			expect((await call("PATCH", path, { key: stranger, ...request })).status).toBe(404);
			expect((await call("PATCH", path, { key: member, ...request })).body.detail).toBe(
				"Your organization access level is insufficient.",
			);
			expect((await call("PATCH", path, { key: admin, ...request })).status).toBe(status);
		}
	});

	test("a missing object in the path is reported before an invalid body", async () => {
		const { ask } = await world();
		for (const request of [...bad, { body: { label: 7 } }])
			expect(
				(await ask("PATCH", "/api/personal_api_keys/01a1fee0-f263-7006-bf2a-924fa6cc9800", request))
					.status,
			).toBe(404);
		expect(
			(
				await ask("PATCH", "/api/personal_api_keys/@current", {
					body: { label: 7 },
				})
			).status,
		).toBe(400);
	});
});

test("an email address can have all characters of a dot-atom, in links and mails, too", async () => {
	const home = await world();
	const mails = outbox();
	const configured = {
		...mails.env,
		MAIL_FROM: "tenantry@example.com",
		APP_URL: "https://app.example.com",
	};
	for (const local of ["r&d", "!#$%&'*", "+/=?^_`{|}~-"]) {
		const target_email = `${local}@example.com`;
		const { status, body } = await home.here("POST", "/invites", {
			body: { target_email },
			env: configured,
		});
		expect({ status, target_email: body.target_email }).toEqual({ status: 201, target_email });
		const [mail] = mails.take();
		expect(mail?.to).toBe(target_email);
		const [pathname] = /\/invites\/[\w-]+/.exec(mail?.text ?? "") ?? [];
		expect((await call("GET", `/api${pathname}`)).body.target_email).toBe(target_email);
		const accepted = await call("POST", `/api${pathname}/accept`, { body: {} });
		expect(accepted.status).toBe(200);
		const found = await home.here("GET", `/members?email=${encodeURIComponent(target_email)}`);
		expect(found.body.results).toMatchObject([{ user: { email: target_email } }]);
		const headers = { "cf-connecting-ip": crypto.randomUUID() };
		const signIn = { body: { email: target_email }, env: configured, headers };
		expect((await call("POST", "/api/sign_in", signIn)).status).toBe(202);
		await eventually(async () => expect(mails.take()).toMatchObject([{ to: target_email }]));
	}
});
