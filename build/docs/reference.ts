/**
 * Makes the pages of the API reference from the OpenAPI document: one for each tag, and an
 * overview.
 */
import GithubSlugger from "github-slugger";
import { html, raw } from "hono/html";
import { ERROR_CODES } from "../../src/http/codes.ts";
import {
	type Document,
	fieldsOf,
	nameOf,
	type Operation,
	type Parameter,
	readDocument,
	type Schema,
	typeText,
	withoutIgnored,
} from "../client/schema.ts";
import { type Heading, renderInline } from "./markdown.ts";

/** An operation with its path and its method in upper case. */
type Call = Operation & { path: string; method: string };

type ReferencePage = {
	path: string;
	name: string;
	title: string;
	headings: Heading[];
	main: unknown;
};

const ROOT = "/docs/reference";

const markdown = (text: string | undefined) =>
	raw(renderInline((text ?? "").replaceAll("\n\n", "<br><br>"), (href) => href));

const slug = (name: string) => new GithubSlugger().slug(name);

/** Returns the calls of each tag, in the order of the document. */
const callsByTag = ({ paths }: Document) =>
	Map.groupBy(
		Object.entries(paths).flatMap(([path, methods]) =>
			Object.entries(methods).map(
				([method, operation]): Call => ({ ...operation, path, method: method.toUpperCase() }),
			),
		),
		({ tags: [tag] }) => tag,
	);

/** Returns the names of the schemas that a value of the document refers to, directly or not. */
function schemasIn(document: Document, value: unknown, found = new Set<string>()) {
	for (const [, name = ""] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g))
		if (!found.has(name)) {
			found.add(name);
			schemasIn(document, document.components.schemas[name] ?? {}, found);
		}
	return found;
}

/** Returns a type with links to the schemas that it names. */
const typeLinks = (schema: Schema) =>
	raw(
		typeText(schema)
			.split(/("[^"]*"|[A-Z]\w+)/)
			.map((part) => (/^[A-Z]/.test(part) ? `<a href="#${part}">${part}</a>` : part))
			.join("")
			// So that long lists of values break between the values.
			.replaceAll("|", " | "),
	);

type Row = { name: string; schema: Schema; isRequired: boolean; description: string | undefined };

/** Returns a list of parameters or fields. */
const list = (rows: Row[], marked: "required" | "optional") =>
	rows.length > 0 &&
	html`<dl class="fields">
${rows.map(
	({
		name,
		schema,
		isRequired,
		description,
	}) => html`<dt><code>${name}</code> <span>${typeLinks(schema)}${
		isRequired === (marked === "required") ? `, ${marked}` : ""
	}</span></dt>
<dd>${markdown(description)}</dd>
`,
)}</dl>`;

const parameterRows = (parameters: Parameter[]) =>
	parameters.map(({ name, schema, required, description }) => ({
		name,
		schema,
		isRequired: required === true,
		description,
	}));

const fieldRows = (schema: Schema) =>
	fieldsOf(schema).map(({ path, schema: field, isRequired }) => ({
		name: path.replace(/^\./, ""),
		schema: field,
		isRequired,
		description: field.description,
	}));

const code = (value: unknown) =>
	html`<div class="code" role="group" aria-label="Code" tabindex="0"><pre><code>${
		typeof value === "string" ? value : JSON.stringify(value, null, 2)
	}</code></pre></div>`;

/**
 * Returns a response: its status, its type and an example; for errors, the links to their codes.
 */
function response(document: Document, status: string, found: Operation["responses"][string]) {
	const { description = "", content = {} } =
		document.components.responses[nameOf(found) ?? ""] ?? found;
	const links = description.replace(/`(\w+)`/g, (text, name) =>
		ERROR_CODES.some((known) => known === name) ? `[${text}](/docs/api#${name})` : text,
	);
	const bodies = status < "400" ? Object.entries(content) : [];
	return html`<dt><code>${status}</code> <span>${bodies.map(
		([media, { schema }], i) =>
			html`${i > 0 ? ", " : ""}${media === "application/json" ? typeLinks(schema) : media}`,
	)}</span></dt>
<dd>${markdown(links)}${bodies.map(
		([media, { example }]) =>
			example !== undefined &&
			html`<details><summary>Example${media === "application/json" ? "" : ` (${media})`}</summary>${code(example)}</details>`,
	)}</dd>
`;
}

/** The value of a parameter in the form: an alias such as `@current`, if there is one. */
const initial = ({ schema }: Parameter) =>
	/@\w+/.exec(JSON.stringify([schema.anyOf, schema.pattern]))?.[0] ?? "";

/** Returns the form that sends the request (reference.js). */
function form({ method, path, parameters, requestBody }: Call) {
	const body = requestBody && Object.values(requestBody.content)[0];
	const text = typeof body?.example === "string" ? body.example : undefined;
	return html`<details class="try"><summary>Try it</summary>
<form data-method="${method}" data-path="${path}" data-type="${Object.keys(requestBody?.content ?? {})[0] ?? ""}">
${parameters.map(
	(parameter) =>
		html`<label>${parameter.name} <input name="${parameter.name}" data-in="${parameter.in}" value="${initial(parameter)}"${
			parameter.in === "path" ? raw(" required") : ""
		} autocomplete="off" spellcheck="false"></label>
`,
)}${
	body &&
	html`<label>Body <textarea name="body" rows="8" spellcheck="false">${
		text ?? JSON.stringify(body.example ?? {}, null, 2)
	}</textarea></label>
`
}<button>Send ${method} request</button>
<output></output>
</form>
</details>`;
}

function section(document: Document, call: Call) {
	const { operationId, method, path, summary, description, security, parameters } = call;
	const scopes = security.flatMap(({ personal_api_key: names = [] }) => names);
	const access = call["x-access"];
	const needsKey = security.length > 0 && security.every((way) => "personal_api_key" in way);
	const [body] = Object.values(call.requestBody?.content ?? {});
	return html`<section>
<h2 id="${operationId}">${summary} <a class="anchor" href="#${operationId}" aria-label="Link to ${summary}">#</a></h2>
<p class="call"><code><b>${method}</b> ${path}</code></p>
<p>${markdown(description)}</p>
<p class="scope">${
		scopes.length > 0
			? html`Scope: <code>${scopes.join(" ")}</code>`
			: needsKey
				? "Any key."
				: "No key needed."
	}${access?.level && html`<br>Level: ${access.level}`}${
		access?.resource &&
		html`<br><a href="/docs/access">Access</a>: ${access.access_level} to ${access.resource}`
	}</p>
${parameters.length > 0 && html`<h3>Parameters</h3>${list(parameterRows(parameters), "required")}`}
${
	body &&
	html`<h3>Body</h3>
<p><span class="type">${typeLinks(body.schema)}</span>${call.requestBody?.required ? "" : ", optional"}</p>
${list(fieldRows(body.schema), "required")}`
}
<h3>Responses</h3>
<dl class="fields">
${Object.entries(call.responses).map(([status, found]) => response(document, status, found))}</dl>
${form(call)}
</section>
`;
}

const schemaSection = (name: string, schema: Schema) => html`<section>
<h3 id="${name}">${name} <a class="anchor" href="#${name}" aria-label="Link to ${name}">#</a></h3>
${schema.description && html`<p>${markdown(schema.description)}</p>`}
${schema.properties ? "" : html`<p><span class="type">${typeLinks(schema)}</span></p>`}
${list(fieldRows(schema), "optional")}
</section>
`;

/** The field for the key that the forms use. */
const keyField = html`<form class="key"><label>Your API key <input id="key" type="password" autocomplete="off" placeholder="tnt_…"></label>
<p>For the requests that you try. It stays in this tab, and is forgotten when you close it.</p></form>`;

function tagPage(document: Document, name: string, about: string, calls: Call[]): ReferencePage {
	const names = [...schemasIn(document, calls)];
	const headings = [
		...calls.map(({ operationId, summary }) => ({ depth: 2, id: operationId, html: summary })),
		...(names.length > 0 ? [{ depth: 2, id: "objects", html: "Objects" }] : []),
		...names.map((id) => ({ depth: 3, id, html: id })),
	];
	return {
		path: `${ROOT}/${slug(name)}`,
		name,
		title: name,
		headings,
		main: html`<article class="reference"><h1>${name}</h1>
<p>${markdown(about)}</p>
${keyField}
${calls.map((call) => section(document, call))}
${names.length > 0 && html`<h2 id="objects">Objects</h2>`}
${names.map((id) => schemaSection(id, document.components.schemas[id] ?? {}))}</article>`,
	};
}

/** Returns the overview: how to authenticate, and all operations, which a field filters. */
const overviewOf = (pages: { path: string; name: string; calls: Call[] }[]): ReferencePage => ({
	path: ROOT,
	name: "API reference",
	title: "API reference",
	headings: [
		{ depth: 2, id: "authentication", html: "Authentication" },
		{ depth: 2, id: "operations", html: "Operations" },
		...pages.map(({ path, name }) => ({
			depth: 3,
			id: path.slice(ROOT.length + 1),
			html: name,
		})),
	],
	main: html`<article class="reference"><h1>API reference</h1>
<p>All operations of the API, from <a href="/openapi.json">the OpenAPI document</a>. <a href="/docs/api">The API</a> describes
what they have in common: errors, pages, headers and limits.</p>
<h2 id="authentication">Authentication</h2>
<p>Send a personal API key with each request: <code>Authorization: Bearer tnt_…</code>. Each operation names the scope that the key
needs. <a href="/docs/keys">Keys and scopes</a> explains how to create one.</p>
${keyField}
<h2 id="operations">Operations</h2>
<search><label>Search operations <input id="search" type="search" autocomplete="off" placeholder="invites, POST, webhook"></label></search>
<p id="none" role="status"></p>
${pages.map(
	({ path, name, calls }) => html`<section class="operations">
<h3 id="${path.slice(ROOT.length + 1)}"><a href="${path}">${name}</a></h3>
<ul>
${calls.map(
	({ operationId, method, path: called, summary }) =>
		html`<li><a href="${path}#${operationId}">${summary}</a> <code><b>${method}</b> ${called}</code></li>
`,
)}</ul>
</section>
`,
)}</article>`,
});

/** Returns the overview and a page for each tag. */
export function referencePages(): ReferencePage[] {
	const document = withoutIgnored(readDocument());
	const calls = callsByTag(document);
	const tags = document.tags.map(({ name, description }) => {
		const own = calls.get(name) ?? [];
		return { calls: own, ...tagPage(document, name, description, own) };
	});
	return [overviewOf(tags), ...tags];
}
