import * as z from "zod";
import { ApiError, invalid } from "../../http/errors.ts";
import { iso } from "../../lib/time.ts";
import { sendRequest } from "../../outbound/fetch.ts";
import { retryAfter } from "../../outbound/send.ts";
import { MAX_ARCHIVE_BYTES } from "./archive.ts";

/** Larger numbers are moments in seconds since 1970, smaller ones are seconds from now. */
const MAX_SECONDS_FROM_NOW = 1e9;

/** A time is at most this far in the future, in seconds. */
const MAX_WAIT_SECONDS = 366 * 86_400;

/**
 * Returns the seconds after which the limit is reset: Retry-After, GitHub's X-RateLimit-Reset or
 * GitLab's RateLimit-Reset.
 */
function secondsUntilReset(headers: Headers) {
	const asked = retryAfter(headers);
	if (asked !== undefined) return asked;
	const reset = Number(headers.get("x-ratelimit-reset") ?? headers.get("ratelimit-reset"));
	return reset > MAX_SECONDS_FROM_NOW ? reset - Date.now() / 1000 : reset;
}

/** Whether a response says that a rate limit is used up. GitHub also answers 403. */
function isLimit({ status, headers }: Response) {
	if (status !== 403) return status === 429;
	const remaining = headers.get("x-ratelimit-remaining") ?? headers.get("ratelimit-remaining");
	return remaining === "0" || headers.has("retry-after");
}

/**
 * Returns what to say about a response if a rate limit is used up, with the time of its end and
 * what helps; undefined for other responses.
 * https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
 * https://docs.gitlab.com/administration/settings/user_and_ip_rate_limits/#response-headers
 * @param label the name of the registry
 * @param hasToken whether the request had a token
 */
export function describeLimit(response: Response, label: string, hasToken: boolean) {
	if (!isLimit(response)) return undefined;
	const seconds = secondsUntilReset(response.headers);
	const isKnown = seconds > 0 && seconds < MAX_WAIT_SECONDS;
	const when = isKnown ? `after ${iso(Date.now() + Math.round(seconds * 1000))}` : "later";
	return hasToken
		? `The rate limit of the token at ${label} is used up. Try again ${when}.`
		: `This service's rate limit at ${label} is used up. Try again ${when}, or add ?private_token= with a token of your own to the URL, which has its own limit.`;
}

const MIB = 2 ** 20;
/** The timeout of all requests of an installation together. */
const TIMEOUT_MS = 10_000;
const MAX_REDIRECTS = 5;
/** Enough for the metadata of a package with thousands of versions. */
const MAX_DOCUMENT_BYTES = 4 * MIB;

/** The parts of the URL of a package or repository. `token` is "" if the URL has none. */
type Page = { name: string; ref: string | undefined; token: string };

/** `archive` is a URL, which may be relative to the registry's base URL. */
type Versions = { tag: string; latest_tag: string; archive: string };

/** Fetches a JSON document at a URL relative to the registry's base URL. */
type FetchJson = <T>(address: string, shape: z.ZodType<T>) => Promise<T>;

type Registry = {
	label: string;
	/** The paths of pages on its website, without slashes at the end. */
	path: RegExp;
	/** The canonical URL of a page is `website`, its name and, for a version, `at` and `ref`. */
	website: string;
	at: string;
	/** Names a page in error messages. */
	subject: (page: Page) => string;
	/** The base URL of its API; "" if not configured. */
	base: (env: Env) => string;
	/** Another URL whose origin it may redirect downloads of archives to; "" if none. */
	archives?: (env: Env) => string;
	headers: (token: string) => Record<string, string>;
	find: (fetchJson: FetchJson, page: Page) => Promise<Versions>;
};

const bearer = (token: string) => (token ? { authorization: `Bearer ${token}` } : {});

const atRef = ({ name, ref }: Page) => (ref ? `${name} at ${ref}` : name);

/** Converts a path, which is already URL-encoded, to a single path segment. */
const segment = (path: string) => path.replaceAll("/", "%2F");

/** The length is that of `tag` in requests. */
const Version = z
	.string()
	.max(200)
	.regex(/^\d[\w.+-]*$/);
const Package = z.object({
	"dist-tags": z.object({ latest: Version }),
	versions: z.record(z.string(), z.object({ dist: z.object({ tarball: z.url() }) })),
});
const Sha = z.string().regex(/^[0-9a-f]{40,64}$/);

const npm: Registry = {
	label: "npm",
	path: /^\/package\/((?:@[\w.~-]+\/)?[\w.~-]+)(?:\/v\/(\d[\w.+-]*))?$/,
	website: "https://www.npmjs.com/package/",
	at: "/v/",
	subject: ({ name }) => `npm package ${name}`,
	base: (env) => env.NPM_REGISTRY_URL,
	// The abbreviated metadata, if the registry supports it.
	headers: (token) => ({
		accept: "application/vnd.npm.install-v1+json, */*;q=0.8",
		...bearer(token),
	}),
	async find(fetchJson, { name, ref }) {
		const metadata = await fetchJson(segment(name), Package);
		const { latest } = metadata["dist-tags"];
		const tag = ref ?? latest;
		const archive = metadata.versions[tag]?.dist.tarball;
		if (!archive) throw invalid(null, `Could not find version ${tag} of npm package ${name}.`);
		return { tag, latest_tag: latest, archive };
	},
};

const github: Registry = {
	label: "GitHub",
	path: /^\/([\w.-]+\/[\w.-]+?)(?:\.git)?(?:\/(?:tree|commit|releases\/tag)\/(.+))?$/,
	website: "https://github.com/",
	at: "/tree/",
	subject: (page) => `GitHub repository ${atRef(page)}`,
	base: (env) => env.GITHUB_API_URL,
	archives: (env) => env.GITHUB_ARCHIVE_URL,
	headers: bearer,
	async find(fetchJson, { name, ref = "HEAD" }) {
		const commit = `repos/${name}/commits/${segment(ref)}`;
		const { sha } = await fetchJson(commit, z.object({ sha: Sha }));
		return { tag: sha, latest_tag: sha, archive: `repos/${name}/tarball/${sha}` };
	},
};

const gitlab: Registry = {
	label: "GitLab",
	path: /^\/((?:\w[\w.-]*\/)+\w[\w.-]*?)(?:\.git)?(?:\/-\/(?:tree|commit|tags)\/(.+))?$/,
	website: "https://gitlab.com/",
	at: "/-/tree/",
	subject: (page) => `GitLab repository ${atRef(page)}`,
	base: (env) => env.GITLAB_API_URL,
	headers: (token) => (token ? { "private-token": token } : {}),
	async find(fetchJson, { name, ref = "HEAD" }) {
		const repository = `projects/${segment(name)}/repository`;
		const commit = `${repository}/commits/${segment(ref)}`;
		const { id } = await fetchJson(commit, z.object({ id: Sha }));
		return { tag: id, latest_tag: id, archive: `${repository}/archive.tar.gz?sha=${id}` };
	},
};

const registries = new Map([
	["npmjs.com", npm],
	["github.com", github],
	["gitlab.com", gitlab],
]);

const withoutSlashes = (path: string) => path.replace(/(?<!\/)\/+$/, "");

/** Parses the URL of a package or repository; undefined if it isn't one. */
function parse(text: string) {
	const url = URL.canParse(text) ? new URL(text) : undefined;
	const registry = url && registries.get(url.host.replace(/^www\./, ""));
	const [, name, ref] = registry?.path.exec(withoutSlashes(url?.pathname ?? "")) ?? [];
	if (!registry || !name || !/^https?:$/.test(url.protocol)) return undefined;
	if (url.username || url.password) return undefined;
	return { registry, page: { name, ref, token: url.searchParams.get("private_token") ?? "" } };
}

/**
 * Returns three parts of an installation URL: `address`, its canonical form; `project`, the same
 * without a version (both are null if plugins can't be installed from the URL); and `token` ("" if
 * the URL has none).
 */
export function identify(url: string) {
	const parsed = parse(url);
	if (!parsed) return { address: null, project: null, token: "" };
	const { registry, page } = parsed;
	const project = `${registry.website}${page.name}`;
	const version = page.ref === undefined ? "" : `${registry.at}${page.ref}`;
	return { address: `${project}${version}`, project, token: page.token };
}

/**
 * Returns the newest version at this URL. For an npm package, this is its `latest` version, even if
 * the URL has another one. For a repository, it is the commit of the URL's branch, tag or commit,
 * or of the default branch.
 * @throws 400 if the URL isn't supported, the source doesn't exist, or it can't be reached in time
 */
export async function latest(env: Env, url: string, timeoutMs = TIMEOUT_MS) {
	const { find } = connect(env, url, timeoutMs);
	return { tag: (await find()).latest_tag };
}

/**
 * Downloads the archive at this URL, for `unpack`, and returns its version and the newest one.
 * Throws the errors of `latest`.
 */
export async function download(env: Env, url: string, timeoutMs = TIMEOUT_MS) {
	const { find, get } = connect(env, url, timeoutMs);
	const { archive, ...versions } = await find();
	return { ...versions, bytes: await get(archive, MAX_ARCHIVE_BYTES) };
}

/** Returns functions for requests to a registry, within one timeout, whose errors have no URL. */
function connect(env: Env, url: string, timeoutMs: number) {
	const parsed = parse(url);
	if (!parsed) throw invalid(null, "Must be a GitHub/GitLab repository or a npm package URL!");
	const { registry, page } = parsed;
	const base = registry.base(env);
	if (base === "") throw invalid(null, `Installing from ${registry.label} is not configured.`);
	const archives = registry.archives?.(env);
	const api = { env, base, archives, headers: registry.headers(page.token) };
	const subject = registry.subject(page);
	const signal = AbortSignal.timeout(timeoutMs);

	async function get(address: string, limit: number) {
		try {
			const response = await follow(api, address, subject, signal);
			const why = describeLimit(response, registry.label, page.token !== "");
			if (why) throw invalid(null, `Could not reach ${subject}. ${why}`);
			return await readBody(response, subject, limit);
		} catch (error) {
			if (error instanceof ApiError) throw error;
			const within = signal.aborted ? ` within ${timeoutMs / 1000} seconds` : "";
			throw invalid(null, `Could not reach ${subject}${within}.`);
		}
	}

	const fetchJson: FetchJson = async (address, shape) => {
		const bytes = await get(address, MAX_DOCUMENT_BYTES);
		try {
			return shape.parse(JSON.parse(new TextDecoder().decode(bytes)));
		} catch {
			throw invalid(null, `Could not read the metadata of ${subject}.`);
		}
	};

	return { find: () => registry.find(fetchJson, page), get };
}

type Api = {
	env: Env;
	base: string;
	archives: string | undefined;
	headers: Record<string, string>;
};

/** Follows redirects, but only to configured origins. Sends the token only to the registry. */
async function follow(
	{ env, base, archives, headers }: Api,
	address: string,
	subject: string,
	signal: AbortSignal,
) {
	const home = new URL(`${withoutSlashes(base)}/`);
	const origins = [home.origin, ...(archives ? [new URL(archives).origin] : [])];
	let url = new URL(address, home);
	for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
		if (!origins.includes(url.origin))
			throw invalid(null, `Could not reach ${subject}: it is on a host that is not configured.`);
		const request = new Request(url, { headers: url.origin === home.origin ? headers : {} });
		const response = await sendRequest(env, request, { redirect: "manual", signal });
		const location = response.headers.get("location");
		if (response.status < 300 || response.status >= 400 || !location) return response;
		await response.body?.cancel();
		url = new URL(location, url);
	}
	throw invalid(null, `Could not reach ${subject}: too many redirects.`);
}

/** GitHub responds with 422 if a commit doesn't exist. */
const NOT_FOUND = [404, 410, 422];

async function readBody({ ok, status, body }: Response, subject: string, limit: number) {
	if (NOT_FOUND.includes(status)) throw invalid(null, `Could not find ${subject}.`);
	if (!ok)
		throw invalid(null, `Could not reach ${subject}: it responded with HTTP status ${status}.`);
	const chunks: Uint8Array[] = [];
	let length = 0;
	for await (const chunk of body ?? []) {
		length += chunk.length;
		if (length > limit)
			throw invalid(null, `Could not read ${subject}: it is larger than ${limit / MIB} MiB.`);
		chunks.push(chunk);
	}
	return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
