import { customType, integer, text } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { now } from "../now.ts";

export const id = () => text().primaryKey().$defaultFn(v7);
export const created_at = () => text().notNull().$defaultFn(now);
export const updated_at = () => text().notNull().$defaultFn(now).$onUpdateFn(now);
/**
 * A moment: ISO 8601 with milliseconds in TypeScript, milliseconds since 1970 in the database,
 * which take 6 bytes instead of 24.
 */
export const moment = customType<{ data: string; driverData: number }>({
	dataType: () => "integer",
	toDriver: (iso) => Date.parse(iso),
	fromDriver: (milliseconds) => new Date(milliseconds).toISOString(),
});
export const boolean = () => integer({ mode: "boolean" });
/** A number of rows that triggers maintain, so that pages don't count them. */
export const counter = () => integer().notNull().default(0);
export const list = <T>() => text({ mode: "json" }).$type<T[]>().notNull().default([]);
export const map = <T>() => text({ mode: "json" }).$type<T>().notNull();
