import { expect, test } from "vitest";
import { unstable_readConfig } from "wrangler";
import { findSlowness } from "../../scripts/check/startup.ts";

type Binding = { binding: string };

/** The part of a configuration that these tests read. */
type Config = {
	name: string;
	vars: Record<string, string>;
	d1_databases: (Binding & { database_name: string; database_id?: string })[];
	kv_namespaces: (Binding & { id?: string })[];
	r2_buckets: (Binding & { bucket_name: string })[];
	ratelimits: { name: string; namespace_id: string }[];
	send_email: { name: string }[];
	worker_loaders: Binding[];
	workflows: (Binding & { name: string })[];
	queues: { producers: Binding[]; consumers: { queue: string }[] };
};

const read = (env?: string): Config =>
	unstable_readConfig({ config: "wrangler.toml", ...(env && { env }) });

test.each([
	['import{connect as a}from"node:net";', "node:net is loaded when an isolate starts."],
	['import"fs";', "fs is loaded when an isolate starts."],
	["var a=/\u00e9/;", "A non-ASCII character"],
])("a script with %s is one that isolates read slowly", (script, complaint) => {
	expect(findSlowness(`import{a as b}from"cloudflare:workers";${script}`)).toEqual([
		expect.stringContaining(complaint),
	]);
});

test("the staging environment has every variable and binding, none of them shared with production", () => {
	const [production, staging] = [read(), read("staging")];
	expect(Object.keys(staging.vars)).toEqual(Object.keys(production.vars));
	const bindings = (config: Config) => ({
		databases: config.d1_databases.map(({ binding }) => binding),
		keys: config.kv_namespaces.map(({ binding }) => binding),
		buckets: config.r2_buckets.map(({ binding }) => binding),
		limits: config.ratelimits.map(({ name }) => name),
		mail: config.send_email.map(({ name }) => name),
		loaders: config.worker_loaders.map(({ binding }) => binding),
		workflows: config.workflows.map(({ binding }) => binding),
		producers: config.queues.producers.map(({ binding }) => binding),
		consumers: config.queues.consumers.length,
	});
	expect(bindings(staging)).toEqual(bindings(production));
	const names = (config: Config) => [
		config.name,
		...config.d1_databases.map(({ database_name }) => database_name),
		...config.r2_buckets.map(({ bucket_name }) => bucket_name),
		...config.ratelimits.map(({ namespace_id }) => namespace_id),
		...config.workflows.map(({ name }) => name),
		...config.queues.consumers.map(({ queue }) => queue),
	];
	const shared = new Set(names(production));
	expect(names(staging).filter((name) => shared.has(name))).toEqual([]);
});

test("the configuration has no ids of an account, so wrangler creates what is missing", () => {
	for (const config of [read(), read("staging")]) {
		expect(config.d1_databases[0]?.database_id).toBeUndefined();
		expect(config.kv_namespaces[0]?.id).toBeUndefined();
	}
});
