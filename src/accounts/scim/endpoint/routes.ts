import type { Context } from "hono";
import type { App } from "../../../env.ts";
import { notFound } from "../../../http/errors.ts";
import { router } from "../../../http/router.ts";
import { asScimErrors, SCIM_TYPE, ScimError } from "../../../http/scim_errors.ts";
import { resourceTypes, schemas, serviceProviderConfig } from "./description.ts";
import { asProvider } from "./directory.ts";
import * as groups from "./groups.ts";
import { readOperations } from "./patch.ts";
import { keepRequests } from "./request_log.ts";
import { MAX_COUNT, pageOf, readObject, respondWith, respondWithList } from "./resource.ts";
import * as users from "./users.ts";

/** Runs `next` after the guard, also if it fails: its error says more than one about the body. */
async function guarded<T>({ var: { directory } }: Context<App>, next: () => Promise<T>) {
	return next().catch(async (error: unknown) => {
		if (!directory.isKnown) await directory.read();
		throw error;
	});
}

const bodyOf = (c: Context<App>) => guarded(c, () => readObject(c));

/** Responds with one of the documents about the endpoint, or all of them. */
async function describe(
	c: Context<App>,
	documents: (url: string) => { id: string }[],
	id?: string,
) {
	const { directory } = c.var;
	await directory.read();
	const all = documents(directory.url);
	if (id !== undefined) {
		const found = all.find((each) => each.id === id);
		if (!found) throw notFound();
		return c.json(found, 200, SCIM_TYPE);
	}
	return c.json(
		{
			schemas: ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
			totalResults: all.length,
			startIndex: 1,
			itemsPerPage: all.length,
			Resources: all,
		},
		200,
		SCIM_TYPE,
	);
}

async function notImplemented(c: Context<App>): Promise<never> {
	await c.var.directory.read();
	throw new ScimError(501, undefined, "This operation isn't supported.");
}

/** Whether the response has the members of groups, which are the most of it. */
const withMembers = (c: Context<App>) => {
	const [attributes, excluded] = ["attributes", "excludedAttributes"].map((name) =>
		c.req.query(name)?.toLowerCase(),
	);
	if (attributes !== undefined) return attributes.includes("members");
	return !/(^|,|:)\s*members\s*(,|$)/.test(excluded ?? "");
};

/** How many groups a page has with their members. */
const MAX_WITH_MEMBERS = 20;

/** docs/sign-on.md#scim */
export default router()
	.use("*", asProvider, keepRequests, asScimErrors)
	.get("/ServiceProviderConfig", async (c) => {
		await c.var.directory.read();
		return c.json(serviceProviderConfig(c.var.directory.url), 200, SCIM_TYPE);
	})
	.get("/ResourceTypes", (c) => describe(c, resourceTypes))
	.get("/ResourceTypes/:id", (c) => describe(c, resourceTypes, c.req.param("id")))
	.get("/Schemas", (c) => describe(c, schemas))
	.get("/Schemas/:id", (c) => describe(c, schemas, c.req.param("id")))
	.post("/.search", notImplemented)
	.post("/Bulk", notImplemented)
	.get("/Users", async (c) => {
		const page = await guarded(c, async () => pageOf(c));
		const { resources, total } = await guarded(c, () => users.list(c.var.directory, page));
		return respondWithList(c, resources, total, page.start);
	})
	.post("/Users", async (c) =>
		respondWith(c, await users.insert(c.var.directory, await bodyOf(c)), 201),
	)
	.get("/Users/:id", async (c) =>
		respondWith(c, await users.find(c.var.directory, c.req.param("id"))),
	)
	.put("/Users/:id", async (c) =>
		respondWith(c, await users.replace(c, c.req.param("id"), await bodyOf(c))),
	)
	.patch("/Users/:id", async (c) => {
		const body = await bodyOf(c);
		const operations = await guarded(c, async () => readOperations(body, users.NAMES));
		return respondWith(c, await users.patch(c, c.req.param("id"), operations));
	})
	.delete("/Users/:id", async (c) => {
		await users.remove(c, c.req.param("id"));
		return c.body(null, 204);
	})
	.get("/Groups", async (c) => {
		const most = withMembers(c) ? MAX_WITH_MEMBERS : MAX_COUNT;
		const page = await guarded(c, async () => pageOf(c, most));
		const { resources, total } = await guarded(c, () =>
			groups.list(c.var.directory, page, withMembers(c)),
		);
		return respondWithList(c, resources, total, page.start);
	})
	.post("/Groups", async (c) => {
		const body = await bodyOf(c);
		return respondWith(c, await guarded(c, () => groups.insert(c.var.directory, body)), 201);
	})
	.get("/Groups/:id", async (c) =>
		respondWith(c, await groups.find(c.var.directory, c.req.param("id"), withMembers(c))),
	)
	.put("/Groups/:id", async (c) => {
		const body = await bodyOf(c);
		return respondWith(c, await guarded(c, () => groups.replace(c, c.req.param("id"), body)));
	})
	.patch("/Groups/:id", async (c) => {
		const body = await bodyOf(c);
		const operations = await guarded(c, async () => readOperations(body, groups.NAMES));
		return respondWith(c, await groups.patch(c, c.req.param("id"), operations));
	})
	.delete("/Groups/:id", async (c) => {
		await groups.remove(c, c.req.param("id"));
		return c.body(null, 204);
	});
