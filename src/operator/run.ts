import * as z from "zod";
import { toApiError } from "../http/valid.ts";
import { bootstrap } from "./bootstrap.ts";
import * as database from "./database.ts";
import * as domains from "./domains.ts";
import * as keys from "./keys.ts";
import * as queries from "./queries.ts";
import * as shapes from "./shape.ts";
import { OperatorError } from "./shape.ts";

type Result = Promise<Record<string, unknown>>;

const command =
	<S extends z.ZodType>(shape: S, query: (env: Env, options: z.output<S>) => Result) =>
	async (env: Env, options: unknown) =>
		query(env, shape.parse(options, { reportInput: true }));

const commands = new Map([
	["bootstrap", command(shapes.bootstrap, bootstrap)],
	["key create", command(shapes.keyCreate, keys.create)],
	["key revoke", command(shapes.keyRevoke, keys.revoke)],
	["user deactivate", command(shapes.user, queries.deactivateUser)],
	["user reset-two-factor", command(shapes.user, queries.resetTwoFactor)],
	["user unlink", command(shapes.userUnlink, queries.unlinkUser)],
	["user list", command(shapes.list, queries.listUsers)],
	["domain verify", command(shapes.domain, domains.verify)],
	["domain enforce", command(shapes.domainEnforce, domains.enforce)],
	["domain lift-enforcement", command(shapes.domain, domains.liftEnforcement)],
	["organization set", command(shapes.organizationSet, queries.setOrganization)],
	["database batch", command(shapes.databaseBatch, database.batch)],
	["secrets open", command(shapes.secretsOpen, database.open)],
	["secrets seal", command(shapes.secretsSeal, database.sealEach)],
	["organization list", command(shapes.list, queries.listOrganizations)],
]);

/** Returns one line for each invalid option, such as `email: This field is required.` */
const explain = (error: z.ZodError) =>
	error.issues
		.map((issue) => `${String(issue.path[0])}: ${toApiError(issue).body.detail}`)
		.join("\n");

/** Runs an operator command. Throws errors that its options didn't cause. */
export async function run(env: Env, name: string, options: unknown): Promise<shapes.Outcome> {
	const execute = commands.get(name);
	if (!execute) return { error: `There is no command "${name}".` };
	try {
		return { result: await execute(env, options) };
	} catch (error) {
		if (error instanceof z.ZodError) return { error: explain(error) };
		if (error instanceof OperatorError) return { error: error.message };
		throw error;
	}
}
