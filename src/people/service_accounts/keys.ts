import * as z from "zod";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import { keysOf } from "../personal_api_keys/routes.ts";
import { account } from "./owner.ts";
import { SECTION } from "./shape.ts";

/** docs/organizations.md#service-accounts */
export default keysOf(
	account,
	{
		section: { ...SECTION, parameters: { id: z.guid().describe("The key's id.") } },
		word: "ServiceAccountKey",
		list: "Lists the account's keys without their values, newest first. Requires level 8.",
		cantSee: "The account can't see a project in the restrictions. `attr` has its position.",
		full: "The account already has 25 keys, or `scoped_projects` and `scoped_teams` list different projects.",
		access: " Requires level 8. The key can access only the account's organization.",
		whose: "the account's keys",
	},
	atLeast(ADMIN),
);
