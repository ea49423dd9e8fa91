/** The commands of `npm run admin` that write and read files of organizations. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import * as z from "zod";
import { messageOf } from "../../build/run.ts";
import { type Database, TakeoutError } from "./database.ts";
import { exportOrganization, release } from "./export.ts";
import { importOrganization } from "./import.ts";

type Run = (
	database: Database,
	words: string[],
	options: Map<string, unknown>,
) => Promise<Record<string, unknown>>;

const Jwk = z.looseObject({ kty: z.enum(["EC", "OKP"]), d: z.string().optional() });

/** Reads a key from a file; undefined if none was named. */
function readKey(path: unknown, isPrivate: boolean) {
	if (typeof path !== "string") return undefined;
	try {
		const { d, ...key } = Jwk.parse(JSON.parse(readFileSync(path, "utf8")));
		if (!isPrivate) return key;
		if (d === undefined) throw new TakeoutError("It is a public key.");
		return { ...key, d };
	} catch (error) {
		const why =
			error instanceof z.ZodError ? "It isn't a JWK of the type EC or OKP." : messageOf(error);
		throw new TakeoutError(`The key in ${path} can't be used: ${why}`);
	}
}

const path = (words: string[], at: number) => resolve(process.env.INIT_CWD ?? "", words[at] ?? "");

export const commands: Record<string, Run> = {
	"organization export": (database, words, options) =>
		exportOrganization(database, {
			id: words[0] ?? "",
			path: path(words, 1),
			jwk: readKey(options.get("seal-to"), false),
			keepsHold: options.get("move") === true,
		}),
	"organization import": (database, words, options) =>
		importOrganization(database, { path: path(words, 0), jwk: readKey(options.get("key"), true) }),
	"organization release": (database, words) => release(database, words[0] ?? ""),
};
