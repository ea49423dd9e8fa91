import { redirects, router } from "../../http/router.ts";
import { finish } from "./finish.ts";

/** Signing in through a provider: pages that only redirect (docs/sign-on.md). */
export default router().get("/finish", redirects(), (c) => finish(c, c.req.query("token") ?? ""));
