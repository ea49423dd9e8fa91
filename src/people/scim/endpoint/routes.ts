import type { Context } from "hono";
import type { App } from "../../../env.ts";
import { orNotFound } from "../../../http/errors.ts";
import { router } from "../../../http/router.ts";
import { asScimErrors, SCIM_TYPE, ScimError } from "../errors.ts";
import { resourceTypes, schemas, serviceProviderConfig } from "./description.ts";
import { asProvider, guarded } from "./directory.ts";
import * as groups from "./groups/changes.ts";
import * as groupList from "./groups/list.ts";
import { keepRequests } from "./request_log.ts";
import { MAX_COUNT, pageOf, readObject, respondWith, respondWithList, wanted } from "./resource.ts";
import * as users from "./users/changes.ts";
import { remove } from "./users/end.ts";
import * as userList from "./users/list.ts";

/** Responds with one of the documents about the endpoint. */
function describe(c: Context<App>, documents: (url: string) => { id: string }[], id: string) {
	const found = documents(c.var.directory.url).find((each) => each.id === id);
	return c.json(orNotFound(found), 200, SCIM_TYPE);
}

/** Responds with all of them. */
function describeAll(c: Context<App>, documents: (url: string) => object[]) {
	const all = documents(c.var.directory.url);
	return respondWithList(c, all, all.length);
}

function notImplemented(): never {
	throw new ScimError(501, undefined, "This operation isn't supported.");
}

/** Whether the response has the members of groups, which are the most of it. */
const withMembers = (c: Context<App>) => wanted(c)("members");

/** How many groups a page has with their members. */
const MAX_WITH_MEMBERS = 20;

/** docs/sign-on.md#scim */
export default router()
	// The log has errors in SCIM's form, too. The form of others is set for all of `/scim`.
	.use("*", asProvider, keepRequests, asScimErrors, guarded)
	.get("/ServiceProviderConfig", (c) =>
		c.json(serviceProviderConfig(c.var.directory.url), 200, SCIM_TYPE),
	)
	.get("/ResourceTypes", (c) => describeAll(c, resourceTypes))
	.get("/ResourceTypes/:id", (c) => describe(c, resourceTypes, c.req.param("id")))
	.get("/Schemas", (c) => describeAll(c, schemas))
	.get("/Schemas/:id", (c) => describe(c, schemas, c.req.param("id")))
	.post("/.search", notImplemented)
	.post("/Users/.search", notImplemented)
	.post("/Groups/.search", notImplemented)
	.post("/Bulk", notImplemented)
	.on(["GET", "POST", "PUT", "PATCH", "DELETE"], "/Me", notImplemented)
	.get("/Users", async (c) => {
		const page = pageOf(c);
		const { resources, total } = await userList.list(c.var.directory, page);
		return respondWithList(c, resources, total, page.start);
	})
	.post("/Users", async (c) => respondWith(c, await users.insert(c, await readObject(c)), 201))
	.get("/Users/:id", async (c) =>
		respondWith(c, await userList.find(c.var.directory, c.req.param("id"))),
	)
	.put("/Users/:id", async (c) =>
		respondWith(c, await users.replace(c, c.req.param("id"), await readObject(c))),
	)
	.patch("/Users/:id", async (c) =>
		respondWith(c, await users.patch(c, c.req.param("id"), await readObject(c))),
	)
	.delete("/Users/:id", async (c) => {
		await remove(c, c.req.param("id"));
		return c.body(null, 204);
	})
	.get("/Groups", async (c) => {
		const page = pageOf(c, withMembers(c) ? MAX_WITH_MEMBERS : MAX_COUNT);
		const { resources, total } = await groupList.list(c.var.directory, page, withMembers(c));
		return respondWithList(c, resources, total, page.start);
	})
	.post("/Groups", async (c) => respondWith(c, await groups.insert(c, await readObject(c)), 201))
	.get("/Groups/:id", async (c) =>
		respondWith(c, await groupList.find(c.var.directory, c.req.param("id"), withMembers(c))),
	)
	.put("/Groups/:id", async (c) =>
		respondWith(c, await groups.replace(c, c.req.param("id"), await readObject(c))),
	)
	.patch("/Groups/:id", async (c) =>
		respondWith(c, await groups.patch(c, c.req.param("id"), await readObject(c))),
	)
	.delete("/Groups/:id", async (c) => {
		await groups.remove(c, c.req.param("id"));
		return c.body(null, 204);
	});
