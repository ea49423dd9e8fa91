export { Tenantry } from "./client.ts";
export { PreconditionFailedError, TenantryError } from "./errors.ts";
export type * from "./generated.ts";
export type * from "./types.ts";
export { verifyWebhook, type WebhookEvent } from "./webhooks.ts";
