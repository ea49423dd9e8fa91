import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { exportJWK, generateKeyPair } from "jose";
import { afterAll, expect, test } from "vitest";
import { exportOrganization, release } from "../../../scripts/takeout/export.ts";
import { digestOfText, openFile } from "../../../scripts/takeout/file.ts";
import { importOrganization } from "../../../scripts/takeout/import.ts";
import { ALL_TABLES } from "../../../scripts/takeout/tables.ts";
import { cipherOf } from "../../../src/keys/secrets.ts";
import { Deployment } from "./deployment.ts";
import { fill, SECRET } from "./organization.ts";

const folder = mkdtempSync(join(tmpdir(), "takeout-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
const newPath = () => {
	files += 1;
	return join(folder, `${files}.sqlite`);
};

const keyPair = async () => {
	const { publicKey, privateKey } = await generateKeyPair("ECDH-ES", {
		extractable: true,
		crv: "X25519",
	});
	return { jwk: await exportJWK(publicKey), key: { ...(await exportJWK(privateKey)) } };
};
const { jwk, key } = await keyPair();

async function save({ database }: Deployment, id: string, more: object = {}) {
	const path = newPath();
	await exportOrganization(database, { id, path, jwk, keepsHold: false, ...more });
	return path;
}

const load = ({ database }: Deployment, path: string, more: object = { jwk: key }) =>
	importOrganization(database, { path, ...more });

const manifestOf = (path: string) => {
	const { file, manifest } = openFile(path);
	file.close();
	return manifest;
};

const tablesOf = (path: string) => manifestOf(path).tables;

/** A deployment with two organizations, and the file of the second. */
async function exported(people?: string[]) {
	const from = new Deployment();
	await fill(from, ["eve@example.com"]);
	const organization = await fill(from, people);
	return { from, ...organization, path: await save(from, organization.id) };
}

/** A deployment with its own log, but none of the ids in the file. */
function used() {
	const to = new Deployment(2);
	to.insert("users", { uuid: "u", distinct_id: "d", email: "zoe@example.com", created_at: "2026" });
	to.insert("organizations", {
		uuid: "o",
		name: "O",
		slug: "o",
		plugins_access_level: 0,
		created_at: "2026",
		updated_at: "2026",
	});
	to.insert("activity_log", {
		position: 17,
		organization_id: 1,
		activity: "updated",
		scope: "Organization",
		item_id: "o",
		created_at: 1,
	});
	return to;
}

/** Changes a file, and its digests so that it looks whole. */
function forge(path: string, change: (manifest: Record<string, unknown>) => object) {
	const copy = newPath();
	copyFileSync(path, copy);
	const file = new DatabaseSync(copy);
	const { manifest } = file.prepare("select manifest from manifest").get() ?? {};
	const text = JSON.stringify(change(JSON.parse(String(manifest))));
	file.prepare("update manifest set manifest = ?, digest = ?").run(text, digestOfText(text));
	file.close();
	return copy;
}

/** The contents of all tables. */
const everything = ({ all }: Deployment) =>
	ALL_TABLES.map((name) => [name, all(`select count(*) as n from "${name}"`)[0]?.n]);

test("an organization that was exported, imported elsewhere and exported again is the same", async () => {
	const { id, path } = await exported();
	const to = used();
	await load(to, path);
	const again = await save(to, id);
	expect(tablesOf(again)).toEqual(tablesOf(path));
	for (const [name, { rows }] of Object.entries(tablesOf(path)))
		expect([name, rows > 0]).toEqual([name, true]);
	expect(manifestOf(again).secrets.rows).toBe(manifestOf(path).secrets.rows);
	// Counters that triggers keep.
	expect(
		to.all("select active_members, invites, moving from organizations where uuid = ?", id),
	).toEqual([{ active_members: 2, invites: 2, moving: null }]);
});

test("an import that is killed again and again ends like one that isn't", async () => {
	const { id, path } = await exported();
	const to = used();
	let kills = 0;
	for (let batches = 1; ; batches += 1) {
		to.batches = batches;
		const done = await load(to, path).then(
			() => true,
			(error: Error) => error.message,
		);
		to.batches = Number.POSITIVE_INFINITY;
		if (done === true) break;
		expect(done).toBe("Killed.");
		kills += 1;
		// Others go on writing.
		to.insert("activity_log", {
			organization_id: 1,
			activity: "updated",
			scope: "Organization",
			item_id: "o",
			created_at: kills,
		});
	}
	expect(kills).toBeGreaterThan(30);
	expect(tablesOf(await save(to, id))).toEqual(tablesOf(path));
});

test("secrets are in the file only for the owner's key, and work in the new deployment", async () => {
	const { from, id, path } = await exported();
	const to = used();
	await load(to, path);
	const [domain] = to.all("select id, oidc_client_secret from domains");
	const unsealed = await cipherOf(to.env, "domains", String(domain?.id)).unseal(
		"oidc_client_secret",
		String(domain?.oidc_client_secret),
	);
	expect(unsealed).toBe(SECRET);
	const hashes = ["personal_api_keys", "scim_tokens"].map((table) =>
		from.all(
			`select hash from "${table}" where id in (select id from "${table}" order by id desc limit 2) order by id`,
		),
	);
	expect(
		["personal_api_keys", "scim_tokens"].map((table) =>
			to.all(`select hash from "${table}" order by id`),
		),
	).toEqual(hashes);
	const without = await save(from, id, { jwk: undefined });
	for (const file of [path, without]) {
		const bytes = readFileSync(file).toString("latin1");
		expect(bytes).not.toContain("sealed:");
		for (const row of hashes.flat())
			expect(bytes).not.toContain(Buffer.from(String(row.hash)).toString("latin1"));
	}
	expect(manifestOf(without)).toMatchObject({ sealed_to: null, secrets: { rows: 0 } });
	expect(
		manifestOf(without).left_out.filter(({ because }) => because.startsWith("The secrets")),
	).toHaveLength(11);
});

test("without the key, keys are dead and what needs secrets is switched off", async () => {
	const { path } = await exported();
	const to = used();
	expect(await load(to, path, {})).toMatchObject({ lost_secrets: 22 });
	expect(to.all("select distinct paused from batch_exports")).toEqual([{ paused: 1 }]);
	expect(to.all("select distinct enabled from webhooks")).toEqual([{ enabled: 0 }]);
	expect(to.all("select hash = 'moved:' || id as dead from personal_api_keys")).toEqual([
		{ dead: 1 },
		{ dead: 1 },
	]);
	expect(to.all("select destination ->> '$.config' as config from batch_exports")[0]).toEqual({
		config: '{"plain":"x"}',
	});
	const { key: other } = await keyPair();
	await expect(load(used(), path, { jwk: other })).rejects.toThrow(
		"were encrypted for another key",
	);
});

test("members wait until they sign in with their address", async () => {
	const people = ["ann@example.com", "zoe@example.com"];
	const { id, path } = await exported(people);
	const to = used();
	expect(await load(to, path)).toMatchObject({ waiting_members: 2 });
	const memberships = () =>
		to.all(
			"select u.email, m.level from members as m join users as u on u.id = m.user_id order by m.level",
		);
	const emails = () =>
		memberships().map(({ email }) => String(email).replace(/^[^@]+@moved/, "…@moved"));
	expect(emails()).toEqual(["…@moved.invalid", "…@moved.invalid"]);
	const signIn = (email: string, is_email_verified: number) =>
		to.sqlite
			.prepare("update users set last_sign_in_at = '2026', is_email_verified = ? where email = ?")
			.run(is_email_verified, email);
	// Zoe has an account here, Ann gets one.
	signIn("zoe@example.com", 0);
	expect(emails()).toEqual(["…@moved.invalid", "…@moved.invalid"]);
	for (const email of people) signIn(email, 1);
	expect(emails()).toEqual(people);
	expect(
		to.all(
			"select * from moved_users where email in (select value from json_each(?))",
			JSON.stringify(people),
		),
	).toEqual([]);
	expect(to.all("select email from users where email like '%@moved.invalid'")).toEqual([]);
	expect(
		to.all("select distinct email from activity_log join users on users.id = user_id order by 1"),
	).toEqual(people.map((email) => ({ email })));
	expect(to.all("select active_members from organizations where uuid = ?", id)).toEqual([
		{ active_members: 2 },
	]);
	// Ann has kept her id.
	const uuids = (path: string) => {
		const { file } = openFile(path);
		return file.prepare("select uuid from users where email = 'ann@example.com'").get();
	};
	expect(uuids(await save(to, id))).toEqual(uuids(path));
});

test("a file that is damaged, newer or of something else changes nothing", async () => {
	const { id, path } = await exported();
	const damaged = newPath();
	const bytes = readFileSync(path);
	const at = bytes.lastIndexOf("Ærø");
	bytes[at + 1] = 66;
	writeFileSync(damaged, bytes);
	const cut = newPath();
	writeFileSync(cut, readFileSync(path).subarray(0, 30_000));
	const text = newPath();
	writeFileSync(text, "{}");
	const empty = newPath();
	new DatabaseSync(empty).exec("create table t (a)");
	const to = used();
	const before = everything(to);
	for (const [file, error] of [
		[damaged, "is damaged"],
		[cut, "is damaged"],
		[text, "is damaged: file is not a database"],
		[empty, "is not a file of npm run admin -- organization export."],
		[`${path}.none`, "There is no file"],
		[forge(path, (manifest) => ({ ...manifest, product: "posthog" })), "is a file of posthog."],
		[
			forge(path, (manifest) => ({ ...manifest, format: 2 })),
			"has the format 2. This version reads at most 1.",
		],
		[
			forge(path, (manifest) => ({ ...manifest, schema: "9999_z.sql" })),
			"is of a newer version: its schema is 9999_z.sql",
		],
	] as const)
		await expect(load(to, file)).rejects.toThrow(error);
	expect(everything(to)).toEqual(before);
	expect(id).toBeTruthy();
});

test("an organization whose ids or names are taken isn't imported", async () => {
	const { from, id, path } = await exported();
	await expect(load(from, path)).rejects.toThrow("The organization is already here.");
	const { file } = openFile(path);
	const domain = String(file.prepare("select domain from domains").get()?.domain);
	const project = Number(file.prepare("select min(id) as id from projects").get()?.id);
	for (const [take, name] of [
		[
			(to: Deployment) => to.sqlite.prepare("update organizations set slug = ?").run(`s-${id}`),
			`organizations.slug s-${id}`,
		],
		[
			(to: Deployment) =>
				to.insert("domains", { id: "d", organization_id: 1, domain, verification_challenge: "" }),
			`domains.domain ${domain}`,
		],
		[
			(to: Deployment) =>
				to.insert("projects", {
					id: project,
					uuid: "p",
					organization_id: 1,
					name: "P",
					created_at: "",
				}),
			`projects.id ${project}`,
		],
		// A project that was deleted.
		[
			(to: Deployment) => to.sqlite.prepare("update activity_log set project_id = ?").run(project),
			`projects.id ${project}`,
		],
	] as const) {
		const to = used();
		take(to);
		const before = everything(to);
		await expect(load(to, path)).rejects.toThrow(name);
		expect(everything(to)).toEqual(before);
	}
});

test("an organization can't be changed while it moves, until it is released", async () => {
	const { from, id } = await exported();
	const isHeld = () =>
		from.all("select moving is not null as held from organizations where uuid = ?", id)[0]?.held;
	await save(from, id, { keepsHold: true });
	expect(isHeld()).toBe(1);
	// A killed export is run again.
	await save(from, id);
	expect(isHeld()).toBe(1);
	await release(from.database, id);
	expect(isHeld()).toBe(0);
	from.batches = 40;
	const path = newPath();
	await expect(exportOrganization(from.database, { id, path, keepsHold: false })).rejects.toThrow(
		"Killed.",
	);
	from.batches = Number.POSITIVE_INFINITY;
	expect(isHeld()).toBe(1);
	await expect(release(from.database, "01a22716-777d-726b-9026-1057dff79087")).rejects.toThrow(
		"There is no organization with this id.",
	);
	await expect(save(from, "01a22716-777d-726b-9026-1057dff79087")).rejects.toThrow(
		"There is no organization with this id.",
	);
});
