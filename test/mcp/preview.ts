import { beforeAll, expect, test } from "vitest";
import index from "../../public/operations.json" with { type: "json" };
import { connect, UNLIMITED } from "../support/mcp.ts";
import { address, type Guarded, type World } from "../support/routes.ts";
import { cost, furnished } from "../support/world.ts";

const nameless = (path: string) => path.replace(/:\w+|\{\w+\}/g, "{}");

/** Returns the arguments of `change` for a route. */
function argumentsFor({ method, path, body }: Guarded, home: World) {
	const operation = index.find(
		(entry) => entry.method === method && nameless(entry.path) === nameless(path),
	);
	if (!operation) throw new Error(`The index doesn't have ${method} ${path}.`);
	const values = address(path, home).split("/");
	const parameters = Object.fromEntries(
		operation.path.split("/").flatMap((segment, i) => {
			const [, name] = /^\{(\w+)\}$/.exec(segment) ?? [];
			return name ? [[name, values[i]]] : [];
		}),
	);
	return { operationId: operation.operationId, parameters, ...(body && { body: body(home) }) };
}

/** Tests that each change can be previewed. */
export function testPreviews(changes: Guarded[]) {
	let home: World;
	let connection: Awaited<ReturnType<typeof connect>>;
	beforeAll(async () => {
		home = await furnished();
		connection = await connect(home.key, { env: UNLIMITED });
	});

	test.each(changes)(
		"$method $path accepts its body, in one round trip, and writes nothing",
		async (route) => {
			const { tool, responses } = connection;
			const given = argumentsFor(route, home);
			expect(await tool("change", given)).toMatchObject({ changed: false, allowed: true });
			const response = responses.at(-1);
			if (!response) throw new Error("There was no response.");
			const { trips, written } = cost({ ...response, headers: response.headers, body: null });
			expect({ trips, written }).toEqual({ trips: 1, written: 0 });
		},
	);

	test.each(changes)(
		"$method $path rejects a field or a body that it doesn't have",
		async (route) => {
			const { body = {}, ...given } = argumentsFor(route, home);
			const { tool } = connection;
			const wrong = Array.isArray(body)
				? body.map((item) => ({ ...item, nonsense: 1 }))
				: { ...Object(body), nonsense: 1 };
			for (const confirm of [false, true]) {
				const rejected = await tool("change", { ...given, body: wrong, confirm });
				expect(rejected.isError).toBe(true);
				expect(rejected.text).toMatch(/nonsense|has no body/);
			}
		},
	);
}
