import { Validator } from "@cfworker/json-schema";
import { describe, expect, test } from "vitest";
import document from "../public/openapi.json" with { type: "json" };
import { isWellFormed } from "../src/keys/keys.ts";
import { operations } from "./support/contract.ts";

/** Bodies and answers without an example, and why. */
const WITHOUT: Record<string, string> = {
	getOpenApiDocument: "It is the document itself.",
	showInvitePage: "A page for people.",
	showRestorationPage: "A page for people.",
	"showRestorationPage token": "Mailed.",
	"restoreOrganizationOnPage token": "Mailed.",
	"restoreOrganizationOnPage body": "The page's button sends it.",
	"restoreOrganizationOnPage answer": "A page for people.",
	"acceptInviteOnPage answer": "A page for people.",
	"getSamlMetadata answer": "XML for the provider.",
};

type Media = { schema: object; example?: unknown };

const isJson = (media: string) => media === "application/json" || media.includes("form");

const contents = operations.flatMap(({ operation }) => {
	const { operationId, requestBody, responses } = operation;
	const media = (part: string, content: Record<string, Media | undefined> = {}) =>
		Object.entries(content).flatMap(([type, value]) =>
			value ? [{ operationId, part, type, value }] : [],
		);
	return [
		...media("body", requestBody?.content),
		...Object.entries(responses).flatMap(([status, { content }]) =>
			media(status < "300" ? "answer" : status, content),
		),
	];
});

/** Downloads have the content of pages, and files any bytes. */
const isDownload = (type: string, { schema }: Media) =>
	["text/csv", "application/x-ndjson"].includes(type) ||
	("format" in schema && schema.format === "binary");

describe("the examples of the document", () => {
	test("exist for every body, every answer and every parameter in a path", () => {
		const missing = [
			...contents.flatMap(({ operationId, part, type, value }) =>
				["body", "answer"].includes(part) && !isDownload(type, value) && value.example === undefined
					? [operationId in WITHOUT ? operationId : `${operationId} ${part}`]
					: [],
			),
			...operations.flatMap(({ operation: { operationId, parameters } }) =>
				parameters.flatMap((parameter) =>
					parameter.in === "path" && parameter.example === undefined
						? [`${operationId} ${parameter.name}`]
						: [],
				),
			),
		];
		expect(missing.sort()).toEqual(Object.keys(WITHOUT).sort());
	});

	test("exist for every status of an error, once at least", () => {
		const statuses = (examples: typeof contents) => [
			...new Set(
				examples.flatMap(({ part, type }) =>
					/^4/.test(part) && type === "application/json" ? [part] : [],
				),
			),
		];
		const given = contents.filter(({ value }) => value.example !== undefined);
		expect(statuses(given).sort()).toEqual(statuses(contents).sort());
	});

	test("fit their schemas", () => {
		const named = [
			...contents.flatMap(({ operationId, part, type, value }) =>
				isJson(type) ? [[`${operationId} ${part} ${type}`, value] as const] : [],
			),
			...operations.flatMap(({ operation: { operationId, parameters } }) =>
				parameters.map((parameter) => [`${operationId} ${parameter.name}`, parameter] as const),
			),
		].filter(([, { example }]) => example !== undefined);
		expect(named.length).toBeGreaterThan(500);
		// One validator for all: each resolves the references of all components.
		const schema = {
			components: document.components,
			properties: Object.fromEntries(named.map(([name, { schema }]) => [name, schema])),
		};
		const examples = Object.fromEntries(named.map(([name, { example }]) => [name, example]));
		const { errors } = new Validator(JSON.parse(JSON.stringify(schema)), "2020-12", false).validate(
			examples,
		);
		expect(errors.map((error) => `${error.instanceLocation}: ${error.error}`)).toEqual([]);
	});

	test("of errors have a code that the document lists", () => {
		for (const { operation } of operations)
			for (const [status, response] of Object.entries(operation.responses)) {
				const example: { code?: string } = Object(response.content?.["application/json"]?.example);
				const codes = response["x-codes"];
				if (example.code && codes)
					expect(codes, `${operation.operationId} ${status}`).toContain(example.code);
			}
	});

	test("have no secrets and no addresses of where they were recorded", () => {
		const text = JSON.stringify(document);
		const keys = [...text.matchAll(/(tnt_(?:scim_)?)\w{43}_\w{6}/g)];
		expect(keys.length).toBeGreaterThan(2);
		for (const [key, prefix = ""] of keys) {
			expect(key.slice(prefix.length)).toMatch(/^(Example){5}\d{8}_/);
			expect(isWellFormed(key, prefix)).toBe(true);
		}
		expect(text).not.toMatch(/127\.0\.0\.1|localhost/);
		const years = Array.from(text.matchAll(/"(\d{4}-\d\d)-\d\dT[\d:.]+Z"/g), ([, month]) => month);
		expect(new Set(years)).toEqual(new Set(["2026-11", "2031-01"]));
	});
});
