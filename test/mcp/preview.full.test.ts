import { guarded } from "../support/routes.ts";
import { testPreviews } from "./preview.ts";

// A model can't delete its person's account.
const NEVER = "DELETE /api/users/:uuid";

testPreviews(
	guarded.filter(({ method, path }) => method !== "GET" && `${method} ${path}` !== NEVER),
);
