/** The operator's command (behaviour 13): on local state, or with --remote on the deployed worker's. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { eq, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { v7 } from "uuid";
import { getPlatformProxy, unstable_readConfig } from "wrangler";
import * as z from "zod";
import { digest, forget, mask, mint } from "../src/auth/keys.ts";
import { PLUGINS_ROOT } from "../src/auth/levels.ts";
import {
	members,
	organizations,
	personalApiKeys,
	projects,
	users,
} from "../src/db/schema.ts";
import { founding } from "../src/organizations/queries.ts";
import { create as newOrganization } from "../src/organizations/shape.ts";
import { create as newKey } from "../src/personal_api_keys/shape.ts";

const USAGE = `npm run admin -- <command> [--remote] [--json]

  bootstrap --email E [--organization N]     a user E with an organization, a project and a key:
                                             what of it is there is left as it is
  key create --email E --label L --scopes S  another key; S may be several, separated by commas
  key revoke ID
  user deactivate EMAIL                      refuses all keys of the user from now on
  organization set ID [--plugins-access-level N] [--feature KEY]… [--customer-id X]

A key's value is printed once, when it is made.
--remote works on the deployed worker's D1 and KV, not on the local ones (STATE_DIR, by default .wrangler/state).
--json prints one JSON object.`;

const DEACTIVATED = "The user of this address is deactivated.";

/** What the operator can mend. */
class Mistake extends Error {}

const { values, positionals } = parse();

function parse() {
	try {
		return parseArgs({
			allowPositionals: true,
			options: {
				email: { type: "string" },
				organization: { type: "string", default: "My organization" },
				label: { type: "string" },
				scopes: { type: "string", multiple: true },
				"plugins-access-level": { type: "string" },
				feature: { type: "string", multiple: true },
				"customer-id": { type: "string" },
				remote: { type: "boolean", default: false },
				json: { type: "boolean", default: false },
			},
		});
	} catch (error) {
		return fail(
			`${error instanceof Error ? error.message : error}\n\n${USAGE}`,
			2,
		);
	}
}

function fail(why: string, code: number): never {
	console.error(why);
	process.exit(code);
}

const root = `${import.meta.dirname}/..`;

/** The bindings: the local ones, or those of the account through a configuration that says so. */
async function connect(): Promise<{ env: Env; dispose: () => Promise<void> }> {
	const own = `${root}/wrangler.toml`;
	const state = process.env.STATE_DIR ?? `${root}/.wrangler/state`;
	if (!values.remote)
		return getPlatformProxy<Env>({
			configPath: own,
			persist: { path: `${state}/v3` },
		});
	const { d1_databases, kv_namespaces, vars, compatibility_date } =
		unstable_readConfig({ config: own });
	const away = <T>(bindings: T[]) =>
		bindings.map((binding) => ({ ...binding, remote: true }));
	mkdirSync(`${root}/.wrangler`, { recursive: true });
	const folder = mkdtempSync(`${root}/.wrangler/admin-`);
	try {
		const configPath = `${folder}/wrangler.json`;
		const bindings = {
			d1_databases: away(d1_databases),
			kv_namespaces: away(kv_namespaces),
		};
		writeFileSync(
			configPath,
			JSON.stringify({
				name: "tenantry-admin",
				compatibility_date,
				vars,
				...bindings,
			}),
		);
		return await getPlatformProxy<Env>({ configPath, persist: false });
	} catch (error) {
		throw new Mistake(error instanceof Error ? error.message : String(error));
	} finally {
		rmSync(folder, { recursive: true });
	}
}

/** @param words what follows the command's name and is no option */
type Command = (env: Env, words: string[]) => Promise<Record<string, unknown>>;

const email = () =>
	z
		.email("--email takes an e-mail address")
		.parse(values.email?.trim().toLowerCase());

const found = <T>(row: T | undefined, what: string): T => {
	if (row === undefined) throw new Mistake(`There is no ${what}.`);
	return row;
};

/** The value of a new key, and the statement that stores it; KV learns of it when it is first used. */
async function makeKey(
	env: Env,
	user_id: number | SQL<number>,
	wanted: { label: string; scopes: string[] },
) {
	const value = mint();
	const hash = await digest(value);
	const insert = drizzle(env.DB)
		.insert(personalApiKeys)
		.values({ ...wanted, user_id, hash, mask_value: mask(value) })
		.returning();
	return { value, insert };
}

const bootstrap: Command = async (env) => {
	const db = drizzle(env.DB);
	const address = email();
	const user_id = sql<number>`(select ${users.id} from ${users} where ${users.email} = ${address})`;
	const overview = [
		db.select().from(users).where(eq(users.email, address)),
		db
			.select({ id: organizations.id, name: organizations.name })
			.from(organizations)
			.innerJoin(members, eq(members.organization_id, organizations.id))
			.where(eq(members.user_id, user_id))
			.orderBy(members.id),
		db
			.select()
			.from(personalApiKeys)
			.where(eq(personalApiKeys.user_id, user_id))
			.orderBy(personalApiKeys.id),
	] as const;
	const [[known], [home], made] = await db.batch(overview);
	if (known && !known.is_active) throw new Mistake(DEACTIVATED);
	const { name } = newOrganization.parse({ name: values.organization });
	const row = { id: v7(), name, plugins_access_level: PLUGINS_ROOT };
	const wanted = { label: "First key", scopes: ["*"] };
	const key =
		made.length === 0 ? await makeKey(env, user_id, wanted) : undefined;
	const [first, ...rest] = [
		...(known
			? []
			: [db.insert(users).values({ email: address, is_email_verified: true })]),
		...(home ? [] : founding(db, user_id, row)),
		...(key ? [key.insert] : []),
	];
	if (first) await db.batch([first, ...rest]);
	const [[user], [organization], keys] = await db.batch(overview);
	const [project] = await db
		.select()
		.from(projects)
		.where(eq(projects.organization_id, organization?.id ?? ""))
		.orderBy(projects.id);
	return {
		email: address,
		user: user?.uuid,
		organization: organization?.id,
		organization_name: organization?.name,
		project: project?.id,
		keys: keys.map(({ id, mask_value }) => `${id} ${mask_value}`),
		key: key?.value ?? null,
	};
};

const commands: Record<string, Command> = {
	bootstrap,

	"key create": async (env, words) => {
		const scopes = [...(values.scopes ?? []), ...words].flatMap((list) =>
			list.split(","),
		);
		const wanted = newKey.parse({ label: values.label, scopes });
		const [user] = await drizzle(env.DB)
			.select()
			.from(users)
			.where(eq(users.email, email()));
		if (user && !user.is_active) throw new Mistake(DEACTIVATED);
		const { value, insert } = await makeKey(
			env,
			found(user, "user of this address").id,
			wanted,
		);
		const [row] = await insert;
		return { id: row?.id, label: row?.label, scopes: row?.scopes, key: value };
	},

	"key revoke": async (env, [id = ""]) => {
		const [row] = await drizzle(env.DB)
			.delete(personalApiKeys)
			.where(eq(personalApiKeys.id, id))
			.returning();
		const { hash, label } = found(row, "key of this id");
		await forget(env, hash);
		return { revoked: id, label };
	},

	"user deactivate": async (env, [address = ""]) => {
		const [user] = await drizzle(env.DB)
			.update(users)
			.set({ is_active: false })
			.where(eq(users.email, address.toLowerCase()))
			.returning();
		return { deactivated: found(user, "user of this address").email };
	},

	"organization set": async (env, [id = ""]) => {
		const level = values["plugins-access-level"];
		if (level !== undefined && !/^[0369]$/.test(level))
			throw new Mistake("--plugins-access-level is 0, 3, 6 or 9.");
		const set = {
			...(level !== undefined && { plugins_access_level: Number(level) }),
			...(values.feature && {
				available_product_features: values.feature.map((key) => ({
					key,
					name: key,
				})),
			}),
			...(values["customer-id"] !== undefined && {
				customer_id: values["customer-id"],
			}),
		};
		if (Object.keys(set).length === 0) throw new Mistake("Say what to set.");
		const [row] = await drizzle(env.DB)
			.update(organizations)
			.set(set)
			.where(eq(organizations.id, id))
			.returning();
		found(row, "organization of this id");
		return { organization: id, ...set };
	},
};

/** What the operator can do about it; undefined where it can do nothing. */
function explain(error: unknown) {
	if (error instanceof Mistake) return error.message;
	if (error instanceof z.ZodError)
		return error.issues
			.map(({ path, message }) => [...path, message].join(": "))
			.join("\n");
	if (
		error instanceof Error &&
		/no such table/.test(`${error.message} ${error.cause}`)
	)
		return `The database has no tables yet: npx wrangler d1 migrations apply DB ${values.remote ? "--remote" : "--local"}`;
}

/** Runs the command that the words name; prints what it answers. */
async function main() {
	const name =
		[positionals.slice(0, 2).join(" "), positionals[0] ?? ""].find(
			(words) => words in commands,
		) ?? "";
	const command = commands[name] ?? fail(USAGE, 2);
	const { env, dispose } = await connect();
	const result = await command(
		env,
		positionals.slice(name.split(" ").length),
	).finally(dispose);
	if (values.json) return console.log(JSON.stringify(result));
	for (const [field, value] of Object.entries(result))
		console.log(
			`${field}: ${typeof value === "object" ? JSON.stringify(value) : value}`,
		);
}

await main().catch((error: unknown) =>
	fail(explain(error) ?? String(error), 1),
);
