import { customType, integer, text } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { now } from "../../lib/time.ts";

export const id = () => text().primaryKey().$defaultFn(v7);
export const created_at = () => text().notNull().$defaultFn(now);
export const updated_at = () => text().notNull().$defaultFn(now).$onUpdateFn(now);
/** A moment: ISO 8601 in TypeScript, milliseconds since 1970 in the database (6 bytes, not 24). */
export const moment = customType<{ data: string; driverData: number }>({
	dataType: () => "integer",
	toDriver: (iso) => Date.parse(iso),
	fromDriver: (milliseconds) => new Date(milliseconds).toISOString(),
});
/** The columns of a lease on a row (src/delivery/lease.ts). */
export const lease = () => ({
	/** The number of leases that were taken. Only the holder of the latest may write. */
	lease: integer().notNull().default(0),
	/** Until then, nobody else can take a lease; null: nobody has one. */
	lease_expires_at: text(),
});
export const boolean = () => integer({ mode: "boolean" });
/** A number of rows, so that pages don't count them. Written in the transaction of the rows. */
export const counter = () => integer().notNull().default(0);
export const list = <T>() => text({ mode: "json" }).$type<T[]>().notNull().default([]);
export const map = <T>() => text({ mode: "json" }).$type<T>().notNull();
