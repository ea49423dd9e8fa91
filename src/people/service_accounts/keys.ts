import { atLeast } from "../../access/middleware.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import keysOf from "../personal_api_keys/routes.ts";
import { account } from "./owner.ts";

/** docs/organizations.md#service-accounts */
export default keysOf(account, atLeast(ADMIN));
