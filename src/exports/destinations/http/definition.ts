import * as z from "zod";
import { url } from "../../../http/fields.ts";
import { define, originOf } from "../definition.ts";
import { filters, header } from "../fields.ts";

const config = z.object({
	url: url().describe("The URL that batches of events are sent to, with POST."),
	token: header(4096).min(1).nullish().describe("Sent as `Authorization: Bearer <token>`."),
	...filters,
});

export type Settings = z.output<typeof config>;

export const http = define({
	title: "HTTP receiver",
	kind: "receiver",
	config,
	place: "url",
	secrets: ["token"],
	server: ({ url }) => originOf(url),
	test: ["reach", "sign in"],
	models: ["events"],
});
