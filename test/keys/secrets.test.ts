import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { batchExports } from "../../src/db/schema/batch_exports.ts";
import { plugins } from "../../src/db/schema/plugins.ts";
import { isSealed, redactor, seal, unseal } from "../../src/keys/secrets.ts";
import { TOKEN } from "../support/registry.ts";
import { db, world } from "../support/world.ts";

const place = { table: "plugins", row: "a", field: "token" };

test("a sealed value can be unsealed at its place only", async () => {
	const sealed = await seal(env, "hunter22", place);
	expect(isSealed(sealed)).toBe(true);
	expect(await unseal(env, sealed, place)).toBe("hunter22");
	for (const other of [{ table: "users" }, { row: "b" }, { field: "config" }])
		await expect(unseal(env, sealed, { ...place, ...other })).rejects.toThrow();
});

test("a value can be unsealed with a key that is no longer the newest, and not without its key", async () => {
	const newer = btoa("n".repeat(32));
	const sealed = await seal(env, "hunter22", place);
	const rotated = { ...env, SECRETS_KEY: `${newer},${env.SECRETS_KEY}` };
	expect(await unseal(rotated, sealed, place)).toBe("hunter22");
	await expect(unseal({ ...env, SECRETS_KEY: newer }, sealed, place)).rejects.toThrow(
		"No key of SECRETS_KEY",
	);
});

test("an export's secret that is copied into another export can't be unsealed", async () => {
	const { here } = await world();
	const exporting = async (token: string) =>
		(
			await here("POST", "/batch_exports", {
				body: {
					name: "x",
					interval: "hour",
					destination: {
						type: "HTTP",
						config: { url: `${env.RECEIVER_URL}/status/200`, token },
					},
				},
			})
		).body.id;
	const [one, two] = [await exporting("first"), await exporting("second")];
	const at = (id: string) => eq(batchExports.uuid, id);
	const [row] = await db.select().from(batchExports).where(at(one));
	const trial = (id: string) => here("POST", `/batch_exports/${id}/test`);
	if (!row) throw new Error("There is no export.");
	await db.update(batchExports).set({ destination: row.destination }).where(at(two));
	expect((await trial(one)).status).toBe(200);
	await expect(trial(two)).rejects.toThrow("500");
});

test("a plugin's token that is copied into another plugin can't be unsealed", async () => {
	const { here, id } = await world();
	const install = async (name: string) =>
		(
			await here("POST", "/pipeline_destinations", {
				body: {
					url: `https://github.com/u/${name}?private_token=${TOKEN}`,
				},
			})
		).body.id;
	const one = await install("private");
	const [row] = await db.select().from(plugins).where(eq(plugins.id, one));
	if (!row?.private_token) throw new Error("There is no token.");
	const upgrade = () => here("POST", `/pipeline_destinations/${one}/upgrade`, {});
	const put = (private_token: string) =>
		db.update(plugins).set({ private_token }).where(eq(plugins.id, one));
	expect((await upgrade()).status).toBe(200);
	await put(
		await seal(env, TOKEN, {
			table: "plugins",
			row: JSON.stringify([id, "https://github.com/u/other"]),
			field: "private_token",
		}),
	);
	await expect(upgrade()).rejects.toThrow("500");
});

test("secrets of four characters and more are hidden in texts, plain and escaped for JSON", () => {
	const redact = redactor(["abcd", "xyz", '"quoted"', "abcdef"]);
	expect(redact("abcd xyz abcdef")).toBe("*** xyz ***");
	expect(redact('{"a":"\\"quoted\\""} "quoted"')).toBe('{"a":"***"} ***');
});
