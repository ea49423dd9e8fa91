import * as z from "zod";
import { ApiError, invalid } from "../../http/errors.ts";
import { MAX_ARCHIVE_BYTES } from "./archive.ts";

const MIB = 2 ** 20;
/** The timeout of all requests of an installation together. */
const TIMEOUT_MS = 10_000;
const MAX_REDIRECTS = 5;
/** Enough for the metadata of a package with thousands of versions. */
const MAX_DOCUMENT_BYTES = 4 * MIB;

/** The parts of a package or repository URL. `token` is "" if the URL has none. */
type Page = { name: string; ref: string | undefined; token: string };

type Registry = {
	label: string;
	/** Base URL of the API; "" if not configured. */
	base: string;
	/** Another URL whose origin the registry may redirect archive downloads to; "" if none. */
	archives: string;
	headers: Record<string, string>;
	/** Names the package or repository in error messages. */
	subject: string;
	find: (fetchJson: FetchJson) => Promise<Found>;
};

/** `archive` is a URL, which may be relative to the registry's base URL. */
type Found = { tag: string; latest_tag: string; archive: string };

/** Fetches a JSON document at a URL relative to the registry's base URL. */
type FetchJson = <T>(address: string, shape: z.ZodType<T>) => Promise<T>;

type Website = {
	/** The paths of pages, without slashes at the end. */
	page: RegExp;
	/** The canonical URL of the page. */
	address: (page: Page) => string;
	registry: (env: Env, page: Page) => Registry;
};

const optionalPath = (path: string, ref: string | undefined) =>
	ref === undefined ? "" : `${path}${ref}`;

const websites = new Map<string, Website>([
	[
		"npmjs.com",
		{
			page: /^\/package\/((?:@[\w.~-]+\/)?[\w.~-]+)(?:\/v\/(\d[\w.+-]*))?$/,
			address: ({ name, ref }) =>
				`https://www.npmjs.com/package/${name}${optionalPath("/v/", ref)}`,
			registry: npm,
		},
	],
	[
		"github.com",
		{
			page: /^\/([\w.-]+\/[\w.-]+?)(?:\.git)?(?:\/(?:tree|commit|releases\/tag)\/(.+))?$/,
			address: ({ name, ref }) => `https://github.com/${name}${optionalPath("/tree/", ref)}`,
			registry: github,
		},
	],
	[
		"gitlab.com",
		{
			page: /^\/((?:\w[\w.-]*\/)+\w[\w.-]*?)(?:\.git)?(?:\/-\/(?:tree|commit|tags)\/(.+))?$/,
			address: ({ name, ref }) => `https://gitlab.com/${name}${optionalPath("/-/tree/", ref)}`,
			registry: gitlab,
		},
	],
]);

const withoutSlashes = (path: string) => path.replace(/(?<!\/)\/+$/, "");

/** Parses the URL of a package or repository; undefined if it isn't one. */
function parsePage(text: string) {
	const url = URL.canParse(text) ? new URL(text) : undefined;
	const website = url && websites.get(url.host.replace(/^www\./, ""));
	const path = withoutSlashes(url?.pathname ?? "");
	const [, name, ref] = website?.page.exec(path) ?? [];
	if (!website || !name || !/^https?:$/.test(url.protocol)) return undefined;
	if (url.username || url.password) return undefined;
	const token = url.searchParams.get("private_token");
	return { website, page: { name, ref, token: token ?? "" } };
}

/**
 * Returns three parts of an installation URL: `address`, its canonical form; `project`, the same without a version (both are
 * null if plugins can't be installed from the URL); and `token` ("" if the URL has none).
 */
export function identify(url: string) {
	const { website, page } = parsePage(url) ?? {};
	return website && page
		? {
				address: website.address(page),
				project: website.address({ ...page, ref: undefined }),
				token: page.token,
			}
		: { address: null, project: null, token: "" };
}

/**
 * Returns the newest version at this URL. For an npm package, this is its `latest` version, even if the URL has another one.
 * For a repository, it is the commit of the URL's branch, tag or commit, or of the default branch.
 * @throws 400 if the URL isn't supported, the source doesn't exist, or it can't be reached in time
 */
export async function latest(env: Env, url: string, timeoutMs = TIMEOUT_MS) {
	const registry = registryOf(env, url);
	const { fetchJson } = clientOf(registry, timeoutMs);
	return { tag: (await registry.find(fetchJson)).latest_tag };
}

/**
 * Downloads the archive at this URL, for `unpack`. Also returns its version and the newest version. Throws the errors of
 * `latest`.
 */
export async function download(env: Env, url: string, timeoutMs = TIMEOUT_MS) {
	const registry = registryOf(env, url);
	const { fetchJson, get } = clientOf(registry, timeoutMs);
	const { tag, latest_tag, archive } = await registry.find(fetchJson);
	return { tag, latest_tag, bytes: await get(archive, MAX_ARCHIVE_BYTES) };
}

function registryOf(env: Env, url: string): Registry {
	const { website, page } = parsePage(url) ?? {};
	if (!website || !page)
		throw invalid(null, "Must be a GitHub/GitLab repository or a npm package URL!");
	const registry = website.registry(env, page);
	if (registry.base === "")
		throw invalid(null, `Installing from ${registry.label} is not configured.`);
	return registry;
}

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

/** Converts a path, which is already URL-encoded, to a single path segment. */
const segment = (path: string) => path.replaceAll("/", "%2F");

const at = (ref: string | undefined) => (ref ? ` at ${ref}` : "");

function npm(env: Env, { name, ref, token }: Page): Registry {
	return {
		label: "npm",
		base: env.NPM_REGISTRY_URL,
		archives: "",
		headers: {
			// The abbreviated metadata, if the registry supports it.
			accept: "application/vnd.npm.install-v1+json, */*;q=0.8",
			...(token && { authorization: `Bearer ${token}` }),
		},
		subject: `npm package ${name}`,
		async find(fetchJson) {
			const metadata = await fetchJson(segment(name), Package);
			const { latest } = metadata["dist-tags"];
			const tag = ref ?? latest;
			const archive = metadata.versions[tag]?.dist.tarball;
			if (!archive) throw invalid(null, `Could not find version ${tag} of npm package ${name}.`);
			return { tag, latest_tag: latest, archive };
		},
	};
}

function github(env: Env, { name, ref, token }: Page): Registry {
	return {
		label: "GitHub",
		base: env.GITHUB_API_URL,
		archives: env.GITHUB_ARCHIVE_URL,
		headers: token ? { authorization: `Bearer ${token}` } : {},
		subject: `GitHub repository ${name}${at(ref)}`,
		async find(fetchJson) {
			const commit = `repos/${name}/commits/${segment(ref ?? "HEAD")}`;
			const { sha } = await fetchJson(commit, z.object({ sha: Sha }));
			const archive = `repos/${name}/tarball/${sha}`;
			return { tag: sha, latest_tag: sha, archive };
		},
	};
}

function gitlab(env: Env, { name, ref, token }: Page): Registry {
	return {
		label: "GitLab",
		base: env.GITLAB_API_URL,
		archives: "",
		headers: token ? { "private-token": token } : {},
		subject: `GitLab repository ${name}${at(ref)}`,
		async find(fetchJson) {
			const repository = `projects/${segment(name)}/repository`;
			const commit = `${repository}/commits/${segment(ref ?? "HEAD")}`;
			const { id } = await fetchJson(commit, z.object({ id: Sha }));
			const archive = `${repository}/archive.tar.gz?sha=${id}`;
			return { tag: id, latest_tag: id, archive };
		},
	};
}

/**
 * Returns the functions that send requests to a registry, all within one timeout. Their error messages don't contain URLs or
 * tokens.
 */
function clientOf(registry: Registry, timeoutMs: number) {
	const signal = AbortSignal.timeout(timeoutMs);
	const { subject } = registry;

	const get = (address: string, limit: number) =>
		follow(registry, address, signal)
			.then((response) => readBody(response, subject, limit))
			.catch((error: unknown) => {
				if (error instanceof ApiError) throw error;
				const within = signal.aborted ? ` within ${timeoutMs / 1000} seconds` : "";
				throw invalid(null, `Could not reach ${subject}${within}.`);
			});

	const fetchJson: FetchJson = async (address, shape) => {
		const bytes = await get(address, MAX_DOCUMENT_BYTES);
		try {
			return shape.parse(JSON.parse(new TextDecoder().decode(bytes)));
		} catch {
			throw invalid(null, `Could not read the metadata of ${subject}.`);
		}
	};

	return { fetchJson, get };
}

/** Follows redirects, but only to configured origins. Sends the token only to the registry. */
async function follow(
	{ base, archives, headers, subject }: Registry,
	address: string,
	signal: AbortSignal,
) {
	const home = new URL(`${withoutSlashes(base)}/`);
	const origins = [home, ...(archives ? [new URL(archives)] : [])].map(({ origin }) => origin);
	let url = new URL(address, home);
	for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
		if (!origins.includes(url.origin))
			throw invalid(null, `Could not reach ${subject}: it is on a host that is not configured.`);
		const response = await fetch(url, {
			redirect: "manual",
			signal,
			headers: {
				"user-agent": "tenantry",
				...(url.origin === home.origin && headers),
			},
		});
		const location = response.headers.get("location");
		if (response.status < 300 || response.status >= 400 || !location) return response;
		await response.body?.cancel();
		url = new URL(location, url);
	}
	throw invalid(null, `Could not reach ${subject}: too many redirects.`);
}

/** GitHub responds with 422 if a commit doesn't exist. */
const NOT_FOUND = [404, 410, 422];

async function readBody(response: Response, subject: string, limit: number) {
	if (NOT_FOUND.includes(response.status)) throw invalid(null, `Could not find ${subject}.`);
	if (!response.ok)
		throw invalid(
			null,
			`Could not reach ${subject}: it responded with HTTP status ${response.status}.`,
		);
	const chunks: Uint8Array[] = [];
	let length = 0;
	for await (const chunk of response.body ?? []) {
		length += chunk.length;
		if (length > limit)
			throw invalid(null, `Could not read ${subject}: it is larger than ${limit / MIB} MiB.`);
		chunks.push(chunk);
	}
	return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
