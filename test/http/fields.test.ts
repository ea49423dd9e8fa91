import { beforeAll, describe, expect, test } from "vitest";
import { readRelativeMoment } from "../../src/lib/moment.ts";
import { wrong } from "../support/errors.ts";
import { call, join, world } from "../support/world.ts";

type Home = Awaited<ReturnType<typeof world>>;
let home: Home;

beforeAll(async () => {
	home = await world();
});

const CONTROL = "Control characters are not allowed.";

describe("a time", () => {
	const created = async (expires_at: string) => {
		const { ask } = await world();
		const body = { label: "x", scopes: ["*"], expires_at };
		return (await ask("POST", "/api/personal_api_keys", { body })).body;
	};

	test.each([
		["2097-01-02T03:04:05Z", "2097-01-02T03:04:05.000Z"],
		["2097-01-02t03:04:05z", "2097-01-02T03:04:05.000Z"],
		["2097-01-02 03:04:05", "2097-01-02T03:04:05.000Z"],
		["2097-01-02T03:04", "2097-01-02T03:04:00.000Z"],
		["2097-01-02 03:04Z", "2097-01-02T03:04:00.000Z"],
		["2097-01-02T03:04:05.5Z", "2097-01-02T03:04:05.500Z"],
		["2097-01-02T03:04:05.1234567+02:00", "2097-01-02T01:04:05.123Z"],
		["2097-01-02T03:04:05+0200", "2097-01-02T01:04:05.000Z"],
		["2097-01-02T03:04:05-05", "2097-01-02T08:04:05.000Z"],
		["2097-01-02 03:04+05:30", "2097-01-01T21:34:00.000Z"],
		["2097-01-02", "2097-01-02T00:00:00.000Z"],
	])("%s is %s", async (text, moment) => {
		expect((await created(text)).expires_at).toBe(moment);
	});

	test.each([
		"2097-02-30",
		"2097-01-02T",
		"2097-01-02T03",
		"2097-01-02T24:00",
		"2097-01-02T03:04:0512",
		"2097-01-02T03:04:05.",
		"2097-01-02T03:04:05+2",
		"2097-01-02T03:04:05+02:60",
		"2097-01-02T03:04:05 02:00",
		"2097-01-02Z",
		"20270102T030405Z",
		"1798859045",
		"0000-12-31",
	])("%s is none", async (text) => {
		expect(await created(text)).toMatchObject({
			code: "invalid_input",
			detail: "Datetime has wrong format. Use ISO 8601.",
			attr: "expires_at",
		});
	});

	test.each([
		["-90s", "2028-03-31T11:58:30.000Z"],
		["-30M", "2028-03-31T11:30:00.000Z"],
		["-24h", "2028-03-30T12:00:00.000Z"],
		["-2d", "2028-03-29T12:00:00.000Z"],
		["-1w", "2028-03-24T12:00:00.000Z"],
		["-1m", "2028-02-29T12:00:00.000Z"],
		["-14m", "2027-01-31T12:00:00.000Z"],
		["-1y", "2027-03-31T12:00:00.000Z"],
		["-2027y", "0001-03-31T12:00:00.000Z"],
		["-2028y", undefined],
		["-999999y", undefined],
		["2d", undefined],
		["-d", undefined],
		["-1.5d", undefined],
		["-2D", undefined],
		["--2d", undefined],
	])("relative to 2028-03-31T12:00:00Z, %s is %s", (text, moment) => {
		expect(readRelativeMoment(text, new Date("2028-03-31T12:00:00Z"))).toBe(moment);
	});

	test("in a query string can be relative to now", async () => {
		const count = async (updated_after: string) =>
			(await home.here("GET", `/members?updated_after=${updated_after}`)).body.count;
		expect(await count("-1d")).toBe(1);
		expect(await count("-0s")).toBe(0);
	});

	test("in a query string may have a space in place of the offset's +", async () => {
		const { body } = await home.here("GET", "/members");
		const at = Date.parse(body.results[0].joined_at);
		const zoned = (ms: number) => new Date(ms + 7_200_000).toISOString().replace("Z", "+02:00");
		const count = async (updated_after: string) =>
			(await home.here("GET", `/members?updated_after=${updated_after}`)).body.count;
		for (const write of [
			(text: string) => text,
			(text: string) => text.replace("+", "%2B"),
			(text: string) => text.replace("T", "+"),
		]) {
			expect(await count(write(zoned(at - 1000)))).toBe(1);
			expect(await count(write(zoned(at + 1000)))).toBe(0);
		}
	});
});

describe("an integer", () => {
	const scoped = async (id: unknown) =>
		(
			await home.ask("POST", "/api/personal_api_keys", {
				body: { label: "x", scopes: ["user:read"], scoped_projects: [id] },
			})
		).body;

	test("may be sent as decimal text, and is stored as a number", async () => {
		const { project } = home;
		for (const id of [project, String(project), ` ${project} `, `0${project}`])
			expect((await scoped(id)).scoped_projects).toEqual([project]);
	});

	test.each(["1e3", "5.0", "0x10", "", "1_000", "one", "+5", true, [1]])(
		"can't be %j",
		async (id) => {
			expect(await scoped(id)).toMatchObject({
				detail: "A valid integer is required.",
				attr: "scoped_projects__0",
			});
		},
	);

	test("sent as text is limited to 32 bits, too", async () => {
		expect(await scoped("2147483648")).toMatchObject({
			code: "max_value",
			detail: "Ensure this value is less than or equal to 2147483647.",
		});
		expect(await scoped("-2147483649")).toMatchObject({
			code: "min_value",
			detail: "Ensure this value is greater than or equal to -2147483648.",
		});
	});

	test("may be sent as text in every body", async () => {
		const { ask, here, id, project } = home;
		const member = await join(id, 1);
		const level = async (level: unknown) =>
			here("PATCH", `/members/${member.uuid}`, { body: { level } });
		expect((await level("8")).body.level).toBe(8);
		expect(await level("9")).toMatchObject(
			wrong("invalid_choice", '"9" is not a valid choice.', "level"),
		);
		expect(await level("8.0")).toMatchObject(
			wrong("invalid_input", "A valid integer is required.", "level"),
		);
		const invite = {
			target_email: "text@tenantry.test",
			level: "15",
			private_project_access: [{ id: String(project), level: "8" }],
		};
		expect((await here("POST", "/invites", { body: invite })).body).toMatchObject({
			level: 15,
			private_project_access: [{ id: project, level: 8 }],
		});
		const plugin = (await here("POST", "/pipeline_destinations", { body: { name: "x" } })).body;
		const configs = `/api/projects/${project}/plugin_configs`;
		const config = await ask("POST", configs, {
			body: { plugin: String(plugin.id), order: "5" },
		});
		expect(config.body).toMatchObject({ plugin: plugin.id, order: 5 });
		expect(
			(
				await ask("PATCH", "/api/users/@me", {
					body: { project: `${project}` },
				})
			).body.project.id,
		).toBe(project);
		const destination = {
			type: "Postgres",
			config: {
				host: "example.com",
				user: "u",
				password: "p",
				database: "d",
				port: "5432",
			},
		};
		const body = { name: "x", interval: "hour", destination };
		const created = await here("POST", "/batch_exports", { body });
		expect(created.body.destination.config.port).toBe(5432);
		const port = (value: unknown) =>
			here("PATCH", `/batch_exports/${created.body.id}`, {
				body: { destination: { config: { port: value } } },
			});
		expect(await port("70000")).toMatchObject(
			wrong(
				"max_value",
				"Ensure this value is less than or equal to 65535.",
				"destination__config__port",
			),
		);
	});
});

describe("a choice in a query string", () => {
	let at: string;
	beforeAll(async () => {
		const body = {
			name: "x",
			destination: { type: "NoOp", config: {} },
			interval: "hour",
		};
		const created = (await home.here("POST", "/batch_exports", { body })).body;
		at = `/batch_exports/${created.id}`;
		await home.here("POST", `${at}/pause`);
	});

	test.each([
		["level=info", 1],
		["level=INFO", 1],
		["level=Warning&level=%20info", 1],
		["level=error", 0],
		["level=error&level=warning", 0],
	])("%s is taken in any case, once or several times", async (query, count) => {
		const { status, body } = await home.here("GET", `${at}/logs?${query}`);
		expect({ status, count: body.count }).toEqual({ status: 200, count });
	});

	test("that is invalid is named by its parameter, and by its position if the parameter is repeated", async () => {
		const attr = async (query: string) => {
			const { status, body } = await home.here("GET", `${at}/${query}`);
			expect({ status, code: body.code }).toEqual({
				status: 400,
				code: "invalid_choice",
			});
			return [body.attr, body.detail];
		};
		const none = '"loud" is not a valid choice.';
		expect(await attr("logs?level=loud")).toEqual(["level", none]);
		expect(await attr("logs?level=info&level=loud")).toEqual(["level__1", none]);
		expect(await attr("runs?status=loud")).toEqual(["status", none]);
		expect(await attr("logs?level=")).toEqual(["level", '"" is not a valid choice.']);
	});

	test("works the same for status and type_filter as for level", async () => {
		const runs = (query: string) => home.here("GET", `${at}/runs?${query}`);
		expect((await runs("status=failedretryable")).status).toBe(200);
		expect((await runs("status=RUNNING&status=completed")).body.count).toBe(0);
		const { ask, here, project } = home;
		const plugin = (await here("POST", "/pipeline_destinations", { body: { name: "x" } })).body;
		const configs = `/api/projects/${project}/plugin_configs`;
		const { body } = await ask("POST", configs, {
			body: { plugin: plugin.id, order: 1, enabled: true },
		});
		const logs = (query: string) => ask("GET", `${configs}/${body.id}/logs?${query}`);
		const all = (await logs("")).body;
		expect(all.count).toBeGreaterThan(0);
		const { type } = all.results[0];
		const lower = `type_filter=error&type_filter=${type.toLowerCase()}`;
		expect((await logs(lower)).body.count).toBeGreaterThan(0);
		expect((await logs("type_filter=loud")).body.attr).toBe("type_filter");
	});
});

describe("control characters", () => {
	const characters = [
		"\u0001",
		"\n",
		"\t",
		"\u001b",
		"\u007f",
		"\u0085",
		"\u2028",
		"\u202e",
		"\u2066",
	];

	test("are rejected in names", async () => {
		const { ask, here, project } = home;
		const named = (value: string): [string, string, object, string][] => [
			["POST", "/api/organizations", { name: value }, "name"],
			["PATCH", `/api/organizations/${home.id}`, { name: value }, "name"],
			["POST", "/api/projects", { name: value }, "name"],
			["PATCH", `/api/projects/${project}`, { name: value }, "name"],
			["PATCH", "/api/users/@me", { first_name: value }, "first_name"],
			["PATCH", "/api/users/@me", { last_name: value }, "last_name"],
			["POST", "/api/personal_api_keys", { label: value, scopes: ["*"] }, "label"],
		];
		for (const character of characters)
			for (const [method, path, body, attr] of named(`a${character}b`))
				expect(await ask(method, path, { body })).toMatchObject(
					wrong("invalid_input", CONTROL, attr),
				);
		const below: [string, object, string][] = [
			["/invites", { target_email: "c@tenantry.test" }, "first_name"],
			["/pipeline_destinations", {}, "name"],
			["/batch_exports", { destination: { type: "NoOp" }, interval: "hour" }, "name"],
		];
		for (const [path, body, attr] of below)
			expect(await here("POST", path, { body: { ...body, [attr]: "a\u202eb" } })).toMatchObject(
				wrong("invalid_input", CONTROL, attr),
			);
	});

	test("other than tabs and line breaks are rejected in multiline text", async () => {
		const { here } = home;
		const invite = (message: string) =>
			here("POST", "/invites", {
				body: { target_email: "lines@tenantry.test", message },
			});
		expect((await invite("Hello,\r\n\twelcome.")).body.message).toBe("Hello,\r\n welcome.");
		expect(await invite("a\u0007b")).toMatchObject(wrong("invalid_input", CONTROL, "message"));
		const description = "One\n\tTwo";
		expect(
			(await here("POST", "/pipeline_destinations", { body: { description } })).body.description,
		).toBe(description);
	});

	test("don't include joiners and direction marks, which names may have", async () => {
		const first_name = "\u0646\u200c\u0627\u200e \u{1f469}\u200d\u{1f52c}";
		expect(
			(
				await call("PATCH", "/api/users/@me", {
					key: home.key,
					body: { first_name },
				})
			).body.first_name,
		).toBe(first_name);
	});

	test("in an event are kept as sent", async () => {
		const { ask, project } = home;
		const event = "a\nb\u0007\u202e";
		const body = [{ event, distinct_id: "a\tb", elements_chain: "\u0001" }];
		expect((await ask("POST", `/api/projects/${project}/events`, { body })).status).toBe(200);
	});
});
