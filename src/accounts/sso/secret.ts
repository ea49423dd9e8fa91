import { cipherOf } from "../../auth/secrets.ts";

/** Encrypts and decrypts `oidc_client_secret`, the field of a domain (docs/keys.md#secrets-at-rest). */
export const cipherOfDomain = (env: Env, id: string) => cipherOf(env, "domains", id);
