import { chmodSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import stringWidth from "string-width";
import { beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { freePort, listen } from "../../../test/support/peers.ts";
import { begin, home, proxy, tenantry, value, withKey } from "./program.ts";

const name = () => crypto.randomUUID();

let organization: string;

/** Words that name the organization of this file, so that others don't change what is listed. */
const here = () => ["--organization", organization];

beforeAll(async () => {
	({ id: organization } = await value(["organizations", "create", "--name", name()]));
});

describe("objects", () => {
	test("are created, read, changed and deleted", async () => {
		const domain = `${name()}.example.com`;
		const created = await value(["domains", "create", ...here(), "--domain", domain]);
		expect(created).toMatchObject({ domain, is_verified: false });
		const got = await tenantry(["domains", "get", created.id, ...here()]);
		expect(got.code).toBe(0);
		expect(got.out).toContain(`id                        ${created.id}\n`);
		expect(got.out).toContain(`domain                    ${domain}\n`);
		const renamed = `${name()}.example.com`;
		expect(
			await value(["domains", "update", created.id, ...here(), "--domain", renamed]),
		).toMatchObject({ domain: renamed });
		expect(await tenantry(["domains", "delete", created.id, ...here(), "--yes"])).toEqual({
			code: 0,
			out: "",
			err: "",
		});
		expect(await tenantry(["domains", "get", created.id, ...here()])).toEqual({
			code: 1,
			out: "",
			err: expect.stringMatching(/^Error: Not found\.\n404 not_found, request [\w-]+\n$/),
		});
	});

	test("above the one that is meant are not deleted", async () => {
		expect(await tenantry(["domains", "delete", "..", ...here(), "--yes"])).toEqual({
			code: 2,
			out: "",
			err: 'Error: domains.delete can\'t have ".." as the parameter "id".\n',
		});
		expect(await value(["organizations", "get", organization])).toMatchObject({ id: organization });
	});

	test("have bodies from --data, a file and stdin, in which options win", async () => {
		const file = `${home}/body.json`;
		writeFileSync(file, '{"name": "from a file", "timezone": "Asia/Tokyo"}');
		const create = ["organization-projects", "create", ...here(), "--data"];
		expect(await value([...create, `@${file}`])).toMatchObject({ name: "from a file" });
		expect(await value([...create, "-"], '{"name": "from stdin"}')).toMatchObject({
			name: "from stdin",
		});
		expect(await value([...create, `@${file}`, "--name", "from an option"])).toMatchObject({
			name: "from an option",
			timezone: "Asia/Tokyo",
		});
	});

	test("have lists, numbers and true or false from options", async () => {
		const key = await value([
			...["keys", "create", "--label", "CI"],
			...["--scopes", "organization:read", "--scopes", "project:read"],
		]);
		expect(key.scopes).toEqual(["organization:read", "project:read"]);
		const [project] = (await value(["organization-projects", "list", ...here()])).results;
		expect(
			await value([
				...["organization-projects", "update", String(project.id), ...here()],
				...["--access-control", "true"],
			]),
		).toMatchObject({ access_control: true });
		const invite = await value([
			...["invites", "create", ...here(), "--level", "admin"],
			...["--target-email", "ada@example.org", "--send-email", "false"],
		]);
		expect(invite).toMatchObject({ level: 8, target_email: "ada@example.org" });
	});

	test("take any request with api", async () => {
		const { code, out } = await tenantry(["api", "GET", `/api/organizations/${organization}`]);
		expect(code).toBe(0);
		expect(JSON.parse(out)).toMatchObject({ id: organization });
		const title = name();
		const patched = await tenantry([
			...["api", "patch", `/api/organizations/${organization}`],
			...["--data", JSON.stringify({ name: title })],
		]);
		expect(JSON.parse(patched.out)).toMatchObject({ name: title });
	});

	test("need no key where the API needs none", async () => {
		const environment = { TENANTRY_URL: inject("url") };
		expect(await tenantry(["health", "get"], { environment })).toMatchObject({ code: 0 });
		expect(await tenantry(["projects", "list"], { environment })).toEqual({
			code: 2,
			out: "",
			err: `Error: You aren't logged in to ${inject("url")}. Run tenantry login, or set TENANTRY_KEY.\n`,
		});
	});
});

describe("lists", () => {
	let own: string[];
	const names = ["Ascii", "日本語のプロジェクト", "👩‍👩‍👧 family", "e\u0301galite\u0301"];

	beforeAll(async () => {
		const { id } = await value(["organizations", "create", "--name", name()]);
		own = ["organization-projects", "list", "--organization", id];
		for (const title of names)
			await value(["organization-projects", "create", ...own.slice(2), "--name", title]);
	});

	test("are tables whose columns are aligned, whatever the script", async () => {
		const { out } = await tenantry(own);
		const [head = "", ...lines] = out.trimEnd().split("\n");
		expect(head).toMatch(/^ID +NAME +ACCESS CONTROL +CREATED +TIMEZONE +ORGANIZATION$/);
		expect(lines).toHaveLength(5);
		const column = head.indexOf("TIMEZONE");
		for (const text of lines) {
			const at = text.indexOf("UTC ");
			expect(stringWidth(text.slice(0, at))).toBe(column);
		}
	});

	test("don't send control characters of names to the terminal", async () => {
		const body = (text: string) => text.replaceAll("Ascii", "\\u001b[31mred\\u0007\\u009b\\u202e");
		const TENANTRY_URL = await proxy(() => undefined, { body });
		const environment = { ...withKey(), TENANTRY_URL };
		expect((await tenantry(own, { environment })).out).toContain("  �[31mred���  ");
		const { out } = await tenantry([...own, "--json"], { environment });
		expect(out).toContain('"\\u001b[31mred\\u0007\\u009b');
	});

	test.each([40, 60, 100])("fit into a terminal of %i columns", async (width) => {
		const environment = { ...withKey(), NO_COLOR: "1" };
		const { code, out } = await tenantry(own, { width, environment });
		expect(code).toBe(0);
		const lines = out.trimEnd().split("\n");
		expect(lines).toHaveLength(6);
		for (const text of lines) expect(stringWidth(text)).toBeLessThanOrEqual(width);
		expect(out).not.toContain("\u001b");
	});

	test("have colours and short times in a terminal, and whole times in a pipe", async () => {
		const { out } = await tenantry(own, { width: 80 });
		expect(out.startsWith("\u001b[1mID")).toBe(true);
		expect(out).toMatch(/ {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}UTC/);
		expect((await tenantry(own)).out).toMatch(/ {2}\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z {2}UTC/);
	});

	test("are one page of JSON, or all pages with an object in each line", async () => {
		const page = await value([...own, "--limit", "2"]);
		expect(page).toMatchObject({ count: 5, results: [{}, {}] });
		const { out } = await tenantry([...own, "--all", "--json"]);
		const found = out
			.trimEnd()
			.split("\n")
			.map((text) => JSON.parse(text).name);
		expect(found.sort()).toEqual([...names, "Default project"].sort());
		expect(await tenantry([...own, "--limit", "2"])).toMatchObject({
			code: 0,
			err: "2 of 5; to print all, add --all.\n",
		});
	});

	test("have the columns of --columns, and reject others", async () => {
		const { out } = await tenantry([...own, "--columns", "timezone,name"]);
		const [head = "", ...lines] = out.trimEnd().split("\n");
		expect(head).toMatch(/^TIMEZONE +NAME$/);
		expect(lines).toHaveLength(5);
		expect(lines.join("\n")).toContain("UTC       Ascii");
	});

	test("may have more than one page of the API", async () => {
		const asked: string[] = [];
		const TENANTRY_URL = await proxy((path) => void asked.push(path), {
			path: (path) => path.replace("limit=1000", "limit=2"),
		});
		const environment = { ...withKey(), TENANTRY_URL };
		const { out } = await tenantry([...own, "--all", "--json"], { environment });
		expect(out.trimEnd().split("\n")).toHaveLength(names.length + 1);
		expect(asked).toHaveLength(3);
	});
});

describe("errors", () => {
	test("of the service have exit code 1, the field, the code and the request's id", async () => {
		const { code, out, err } = await tenantry(["domains", "create", ...here(), "--domain", "-"]);
		expect({ code, out }).toEqual({ code: 1, out: "" });
		expect(err).toMatch(/^Error: .+ \(domain\)\n400 \w+, request [\w-]+\n$/);
	});

	test("of the network have exit code 3", async () => {
		const url = `http://127.0.0.1:${await freePort()}`;
		const environment = { ...withKey(), TENANTRY_URL: url };
		expect(await tenantry(["whoami"], { environment })).toEqual({
			code: 3,
			out: "",
			err: expect.stringMatching(/^Error: No response from http:\S+: connect ECONNREFUSED \S+\n$/),
		});
	});

	test("never show a key", async () => {
		const key = inject("key");
		const wrong = `${key.slice(0, -1)}${key.endsWith("a") ? "b" : "a"}`;
		const environment = { ...withKey(), TENANTRY_KEY: wrong };
		const refused = await tenantry(["whoami"], { environment });
		expect(refused).toMatchObject({ code: 1, out: "" });
		expect(refused.err).toMatch(/^Error: .+\n401 authentication_failed, request [\w-]+\n$/);
		const typed = await tenantry(["domains", key]);
		expect(typed).toMatchObject({ code: 2, out: "" });
		const broken = await tenantry(["whoami"], {
			environment: { ...withKey(), TENANTRY_KEY: `${key}\nx` },
		});
		expect(broken).toEqual({ code: 2, out: "", err: "Error: This is not an API key.\n" });
		for (const { err } of [refused, typed]) expect(err).not.toMatch(/tnt_\w/);
	});
});

describe("login", () => {
	const environment = {};
	const path = `${home}/tenantry/default.json`;
	const words = () => ["login", "--url", inject("url"), "--key-stdin"];

	test("saves a key that works, for its owner only", async () => {
		const input = `${inject("key")}\n`;
		expect(await tenantry(words(), { input, environment })).toEqual({
			code: 0,
			out: `Logged in to ${inject("url")} as owner@example.com. The key is saved in ${path}.\n`,
			err: "",
		});
		expect(statSync(path).mode & 0o777).toBe(0o600);
		expect(statSync(`${home}/tenantry`).mode & 0o777).toBe(0o700);
		expect(await tenantry(["whoami"], { environment })).toMatchObject({
			code: 0,
			out: expect.stringMatching(/^email +owner@example\.com\nuuid +[\w-]+\nservice +http:\S+\n$/),
		});
		const elsewhere = { TENANTRY_URL: "http://127.0.0.1:1" };
		expect(await tenantry(["whoami"], { environment: elsewhere })).toMatchObject({ code: 2 });
		chmodSync(path, 0o644);
		expect(await tenantry(["whoami"], { environment })).toEqual({
			code: 2,
			out: "",
			err: `Error: Others can read ${path}. Run: chmod 600 ${path}\n`,
		});
		expect(await tenantry(["logout"], { environment })).toMatchObject({
			out: `Removed ${path}.\n`,
		});
		expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
		expect(await tenantry(["logout"], { environment })).toMatchObject({
			code: 0,
			out: "There was no login.\n",
		});
	});

	test("doesn't save a key that doesn't work", async () => {
		const input = "tnt_wrong";
		expect(await tenantry(words(), { input, environment })).toMatchObject({ code: 1, out: "" });
		expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
	});

	test("needs a terminal or --key-stdin for a key", async () => {
		expect(await tenantry(["login", "--key"], { environment })).toEqual({
			code: 2,
			out: "",
			err: "Error: Without a terminal, pass the key with --key-stdin.\n",
		});
	});
});

describe("deleting", () => {
	const project = async () =>
		String((await value(["organization-projects", "create", ...here(), "--name", name()])).id);

	test("needs --yes without a terminal", async () => {
		const id = await project();
		expect(await tenantry(["organization-projects", "delete", id, ...here()])).toEqual({
			code: 2,
			out: "",
			err: `Error: Without a terminal, organization-projects delete ${organization} ${id} requires --yes. Nothing was changed.\n`,
		});
		expect(await tenantry(["organization-projects", "get", id, ...here()])).toMatchObject({
			code: 0,
		});
	});

	test.each([
		["n", 2, 0],
		["y", 0, 1],
	])(
		"asks first at a terminal, and the response %s ends it with %i",
		async (answer, code, after) => {
			const id = await project();
			const words = ["organization-projects", "delete", id, ...here()];
			const { says, type, ended } = begin(words, { width: 80 });
			await says(/Really organization-projects delete/);
			type(`${answer}\n`);
			expect(await ended).toBe(code);
			expect((await tenantry(["organization-projects", "get", id, ...here()])).code).toBe(after);
		},
	);

	test("doesn't ask with --yes", async () => {
		const words = ["organization-projects", "delete", await project(), ...here(), "--yes"];
		expect(await tenantry(words, { width: 80 })).toEqual({ code: 0, out: "", err: "" });
	});

	test("gives a signed receipt of what has ended with --receipt", async () => {
		const account = await value(["service-accounts", "create", ...here(), "--name", name()]);
		const words = ["service-accounts", "delete", account.id, ...here(), "--yes", "--receipt"];
		expect(await value(words)).toMatchObject({
			revoked: { type: "service_account", id: account.id },
			organization_id: organization,
			receipt: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
		});
		const help = await tenantry(["organization-projects", "delete", "--help"]);
		expect(help.out).not.toContain("--receipt");
	});
});

describe("exports", () => {
	const create = async () => {
		const destination = { type: "R2", config: { prefix: name() } };
		const { id } = await value([
			...["exports", "create", "--name", name(), "--interval", "hour"],
			...["--destination", JSON.stringify(destination)],
		]);
		return String(id);
	};

	test("run is followed to its end with --watch", async () => {
		const id = await create();
		const range = ["--start-at", "2026-01-01T00:00:00Z", "--end-at", "2026-01-01T02:00:00Z"];
		const { code, out, err } = await tenantry([
			...["exports", "run", id, ...range, "--watch", "--interval", "0.2", "--json"],
		]);
		expect(err).toMatch(/(^|\n)2 of 2 windows exported\n$/);
		expect(code).toBe(0);
		expect(JSON.parse(out)).toMatchObject({ status: "Completed", total_runs: 2, finished_runs: 2 });
		const { results } = await value(["exports", "runs", id]);
		expect(results).toMatchObject([{ status: "Completed" }, { status: "Completed" }]);
	});

	test("run fails with --watch if the range isn't exported", async () => {
		const id = await create();
		const range = ["--start-at", "2025-01-01T00:00:00Z", "--end-at", "2026-01-01T00:00:00Z"];
		const { printed, says, ended } = begin([
			...["exports", "run", id, ...range, "--watch", "--interval", "0.2"],
		]);
		await says(/of 8760 windows exported/);
		const [backfill] = (await value(["exports", "backfills", id])).results;
		const cancelled = await tenantry(["exports", "cancel-backfill", id, backfill.id]);
		expect(cancelled.code).toBe(0);
		expect(await ended).toBe(1);
		expect(printed.err).toMatch(/Error: The backfill ended with the status Cancelled\.\n$/);
		expect(printed.out).toMatch(/^id +[\w-]+\n[\s\S]*status +Cancelled\n/);
	});

	test("retry --failed retries what each of them hasn't delivered", async () => {
		const server = createServer((request, response) => {
			request.resume();
			response.writeHead(400).end("No.");
		});
		onTestFinished(() => void server.close());
		const url = `http://127.0.0.1:${await listen(server)}/`;
		const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000;
		const at = (hours: number) => new Date(hour + hours * 3_600_000).toISOString();
		const destination = JSON.stringify({ type: "HTTP", config: { url } });
		const { id, team_id } = await value([
			...["exports", "create", ...here(), "--name", "Broken", "--interval", "hour"],
			...["--destination", destination],
		]);
		await value([
			...["events", "ingest", "--project", String(team_id), "--data"],
			JSON.stringify([{ event: "seen", distinct_id: "a", timestamp: at(-0.5) }]),
		]);
		const range = ["--start-at", at(-1), "--end-at", at(0)];
		await tenantry(["exports", "run", id, ...here(), ...range, "--watch", "--interval", "0.2"]);
		expect(await tenantry(["exports", "retry", ...here()])).toMatchObject({
			code: 2,
			err: expect.stringContaining("requires the id of an export, or --failed for all"),
		});
		expect(await value(["exports", "retry", "--failed", ...here()])).toEqual([
			{ id, name: "Broken", windows: 1, waiting: 0 },
		]);
	});
});
