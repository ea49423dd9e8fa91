import type { Context, MiddlewareHandler } from "hono";
import { body } from "../../access/input.ts";
import { revokes } from "../../access/receipts.ts";
import type { Tenant } from "../../access/tenant.ts";
import type { App } from "../../env.ts";
import { uuidOr } from "../../http/fields.ts";
import { page } from "../../http/page.ts";
import { created, ok, paginated, router, type Section } from "../../http/router.ts";
import { rollBody } from "../../keys/overlap.ts";
import * as days from "./days.ts";
import { caller, type OwnerOf } from "./owner.ts";
import * as keys from "./queries.ts";
import { create, KeyDay, PersonalApiKey, update } from "./shape.ts";

type Words = {
	section: Section;
	/** A word for the names of the operations. */
	word: string;
	whose: string;
	/** Describes listing. */
	list: string;
	/** Ends the description of creating. */
	access: string;
	/** When a project or an organization in a body doesn't exist. */
	cantSee: string;
	/** When a new key is invalid. */
	full: string;
};

/** Returns the operations on an owner's keys. `access`: requirements besides the scope. */
export function keysOf(owner: OwnerOf, words: Words, ...access: MiddlewareHandler<App>[]) {
	const findOwner = (tenant: Tenant, _: string, c: Context<App>) =>
		keys.findOwner(tenant, owner(c));
	const find = (tenant: Tenant, id: string, c: Context<App>) => keys.find(tenant, owner(c), id);
	const { word, whose, cantSee: does_not_exist } = words;
	const expiry_required =
		"The key has no `expires_at`, and an organization that it can access requires one.";
	return router(words.section)
		.use("*", ...access)
		.get(
			"/",
			paginated(PersonalApiKey, {
				id: `list${word}s`,
				summary: `List ${whose}`,
				description: words.list,
			}),
			async (c) => c.json(await keys.list(c.var.tenant, owner(c), page(c))),
		)
		.post(
			"/",
			created(PersonalApiKey, {
				id: `create${word}`,
				summary: "Create a key",
				description: `Only this response shows the key's \`value\`: store it. A key can't create a key with more permissions or a longer life than its own: that is a 403.${words.access}`,
				errors: { does_not_exist, expiry_required, invalid_input: words.full },
			}),
			body(create, findOwner),
			async (c) => c.json(await keys.insert(c.var.tenant, owner(c), c.req.valid("json")), 201),
		)
		.get(
			"/:id",
			ok(PersonalApiKey, {
				id: `get${word}`,
				summary: "Retrieve a key",
				description: `Returns one of ${whose}, without its value. Keys of others are a 404.`,
			}),
			async (c) => c.json(await keys.find(c.var.tenant, owner(c), c.req.param("id"))),
		)
		.patch(
			"/:id",
			ok(PersonalApiKey, {
				id: `update${word}`,
				summary: "Change a key",
				description: `Changes one of ${whose}. The next request with the key is checked against its new scopes and restrictions. Fields that aren't in the body don't change. You can't give a key more permissions or a longer life than those of the key in use: that is a 403. The key in use must still allow your IP address.`,
				errors: {
					does_not_exist,
					expiry_required,
					invalid_input:
						"`scoped_projects` and `scoped_teams` list different projects, or the key in use would no longer allow your IP address.",
				},
			}),
			body(update, find),
			async (c) =>
				c.json(await keys.update(c.var.tenant, owner(c), c.req.param("id"), c.req.valid("json"))),
		)
		.delete(
			"/:id",
			revokes({
				id: `revoke${word}`,
				summary: "Revoke a key",
				description:
					"Deletes the key. Requests with it are rejected from now on, even if it is the key in use.",
			}),
			async (c) => {
				await keys.remove(c.var.tenant, owner(c), c.req.param("id"));
				return c.body(null, 204);
			},
		)
		.post(
			"/:id/roll",
			ok(PersonalApiKey, {
				id: `roll${word}`,
				summary: "Give a key a new value",
				description:
					"The old value immediately stops working or, with `overlap`, works for an hour or a day longer: then both do, and revoking the key ends both. A value from before the old one stops working in any case. Only this response shows the new `value`: store it. Scopes, restrictions and expiry stay. You can't roll a key with more permissions or a longer life than the key in use: that is a 403. An expired key is a 400: give it a later `expires_at` first.",
				errors: {
					expiry_required,
					invalid_input:
						"The key has expired, or another request rolled, changed or revoked it at the same time.",
				},
			}),
			body(rollBody("none"), find),
			async (c) =>
				c.json(await keys.roll(c.var.tenant, owner(c), c.req.param("id"), c.req.valid("json"))),
		)
		.get(
			"/:id/usage",
			paginated(KeyDay, {
				id: `list${word}Usage`,
				summary: "List the use of a key by day",
				description:
					"Lists the days (UTC) of the last 90 on which the key was used, newest first. Days without use are omitted. The numbers are saved up to half a minute after the responses.",
			}),
			async (c) => c.json(await days.list(c.var.tenant, owner(c), c.req.param("id"), page(c))),
		);
}

/** docs/keys.md#personal-api-keys */
export default keysOf(caller, {
	section: {
		name: "Personal API keys",
		description:
			"The keys that you use this API with. Each has scopes, and can be restricted to organizations, projects or IP addresses. `@current` stands for the one in use.",
		parameters: {
			id: uuidOr("@current").describe("The key's id, or `@current` for the one in use."),
		},
	},
	word: "PersonalApiKey",
	list: "Lists your keys without their values, newest first, including expired ones.",
	cantSee:
		"You don't belong to an organization, or can't see a project, in the restrictions. `attr` has its position.",
	full: "You already have 25 keys, or `scoped_projects` and `scoped_teams` list different projects.",
	access: "",
	whose: "your keys",
});
