import { beforeAll, describe, expect, test, vi } from "vitest";
import { call, world } from "../support/world.ts";

describe("the form of an invite's page", () => {
	let path: string;
	beforeAll(async () => {
		const { here } = await world();
		const { body } = await here("POST", "/invites", {
			body: { target_email: "form@tenantry.test", send_email: false },
		});
		path = `/invites/${body.accept_url.split("/").at(-1)}`;
	});

	const post = (raw: BodyInit) =>
		call("POST", path, {
			raw,
			headers: { "content-type": "application/x-www-form-urlencoded" },
			env: {},
		});

	test("is refused where a name is not UTF-8, and the invite still works", async () => {
		for (const raw of ["first_name=Jos%E9", "last_name=%ED%A0%80"]) {
			const { status, body } = await post(raw);
			expect(status).toBe(400);
			expect(body).toContain("the invite still works");
		}
		expect((await call("GET", path)).status).toBe(200);
	});

	test("is a 400 when its sender goes away before its end, and no error of ours", async () => {
		const error = vi.spyOn(console, "error");
		const raw = new ReadableStream({
			pull(controller) {
				controller.enqueue(new TextEncoder().encode("first_name="));
				controller.error(new Error("Network connection lost."));
			},
		});
		expect((await post(raw)).status).toBe(400);
		expect(error).not.toHaveBeenCalled();
		error.mockRestore();
	});

	test("takes names of any letters", async () => {
		const { status, body } = await post(
			"first_name=Jos%C3%A9&last_name=%F0%9F%A6%94",
		);
		expect(status).toBe(200);
		expect(body).toContain("Welcome");
	});
});
