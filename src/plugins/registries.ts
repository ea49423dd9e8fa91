import * as z from "zod";
import { ApiError, invalid } from "../http/errors.ts";
import { MAX_ARCHIVE_BYTES } from "./archive.ts";

const MIB = 2 ** 20;
/** For everything that one installation asks, together. */
const TIMEOUT_MS = 10_000;
const MAX_REDIRECTS = 5;
/** Room for what a registry says of a package with thousands of versions. */
const MAX_DOCUMENT_BYTES = 4 * MIB;

/** What the url of a website names. */
type Page = { name: string; ref: string | undefined; token: string };

type Registry = {
	label: string;
	/** Its base address; "": not configured. */
	base: string;
	/** Another address that it sends to for archives; "": none. */
	archives: string;
	headers: Record<string, string>;
	/** What is looked for, in words. */
	what: string;
	find: (ask: Ask) => Promise<Found>;
};

/** `archive` is an address, which may be relative to the registry's. */
type Found = { tag: string; latest_tag: string; archive: string };

/** Asks for a JSON document at an address relative to the registry's. */
type Ask = <T>(address: string, shape: z.ZodType<T>) => Promise<T>;

type Website = {
	page: RegExp;
	/** The page's one address, however it was written. */
	address: (page: Page) => string;
	registry: (env: Env, page: Page) => Registry;
};

const pathBelow = (path: string, ref: string | undefined) =>
	ref === undefined ? "" : `${path}${ref}`;

const websites = new Map<string, Website>([
	[
		"npmjs.com",
		{
			page: /^\/package\/((?:@[\w.~-]+\/)?[\w.~-]+)(?:\/v\/(\d[\w.+-]*))?\/*$/,
			address: ({ name, ref }) => `https://www.npmjs.com/package/${name}${pathBelow("/v/", ref)}`,
			registry: npm,
		},
	],
	[
		"github.com",
		{
			page: /^\/([\w.-]+\/[\w.-]+?)(?:\.git)?(?:\/(?:tree|commit|releases\/tag)\/(.+?))?\/*$/,
			address: ({ name, ref }) => `https://github.com/${name}${pathBelow("/tree/", ref)}`,
			registry: github,
		},
	],
	[
		"gitlab.com",
		{
			page: /^\/((?:\w[\w.-]*\/)+\w[\w.-]*?)(?:\.git)?(?:\/-\/(?:tree|commit|tags)\/(.+?))?\/*$/,
			address: ({ name, ref }) => `https://gitlab.com/${name}${pathBelow("/-/tree/", ref)}`,
			registry: gitlab,
		},
	],
]);

/** The page that a url leads to, if it is one that plugins are installed from. */
function visited(text: string) {
	const url = URL.canParse(text) ? new URL(text) : undefined;
	const website = url && websites.get(url.host.replace(/^www\./, ""));
	const [, name, ref] = website?.page.exec(url?.pathname ?? "") ?? [];
	if (!website || !name || !/^https?:$/.test(url.protocol)) return undefined;
	if (url.username || url.password) return undefined;
	const token = url.searchParams.get("private_token");
	return { website, page: { name, ref, token: token ?? "" } };
}

/** What a plugin from this url is known by (null: none is installed from there), and the token that the url holds. */
export function identify(url: string) {
	const { website, page } = visited(url) ?? {};
	return website && page
		? { address: website.address(page), token: page.token }
		: { address: null, token: "" };
}

/**
 * The newest version at this url: of an npm package its latest, whichever the url names; of a repository the commit
 * that the url's branch, tag or commit stands for now, which is the default branch's where it names none.
 * Refused with a 400 where there is no such source or it can't be reached in time.
 */
export async function latest(env: Env, url: string, milliseconds = TIMEOUT_MS) {
	const registry = registryOf(env, url);
	const { ask } = visit(registry, milliseconds);
	return { tag: (await registry.find(ask)).latest_tag };
}

/** The archive at this url, for `unpack`; its version; and what `latest` says. Refused as that is. */
export async function download(env: Env, url: string, milliseconds = TIMEOUT_MS) {
	const registry = registryOf(env, url);
	const { ask, get } = visit(registry, milliseconds);
	const { tag, latest_tag, archive } = await registry.find(ask);
	return { tag, latest_tag, bytes: await get(archive, MAX_ARCHIVE_BYTES) };
}

function registryOf(env: Env, url: string): Registry {
	const { website, page } = visited(url) ?? {};
	if (!website || !page)
		throw invalid(null, "Must be a GitHub/GitLab repository or a npm package URL!");
	const registry = website.registry(env, page);
	if (registry.base === "")
		throw invalid(null, `Installing from ${registry.label} is not configured.`);
	return registry;
}

const Version = z.string().regex(/^\d/);
const Package = z.object({
	"dist-tags": z.object({ latest: Version }),
	versions: z.record(z.string(), z.object({ dist: z.object({ tarball: z.url() }) })),
});
const Sha = z.string().regex(/^[0-9a-f]{40,64}$/);

/** Of what a url's path holds, encoded as it is, one segment. */
const segment = (path: string) => path.replaceAll("/", "%2F");

const at = (ref: string | undefined) => (ref ? ` at ${ref}` : "");

function npm(env: Env, { name, ref, token }: Page): Registry {
	return {
		label: "npm",
		base: env.NPM_REGISTRY_URL,
		archives: "",
		headers: {
			// The short form of a package's document, where the registry has one.
			accept: "application/vnd.npm.install-v1+json, */*;q=0.8",
			...(token && { authorization: `Bearer ${token}` }),
		},
		what: `npm package ${name}`,
		async find(ask) {
			const document = await ask(segment(name), Package);
			const { latest } = document["dist-tags"];
			const tag = ref ?? latest;
			const archive = document.versions[tag]?.dist.tarball;
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
		what: `GitHub repository ${name}${at(ref)}`,
		async find(ask) {
			const commit = `repos/${name}/commits/${segment(ref ?? "HEAD")}`;
			const { sha } = await ask(commit, z.object({ sha: Sha }));
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
		what: `GitLab repository ${name}${at(ref)}`,
		async find(ask) {
			const repository = `projects/${segment(name)}/repository`;
			const commit = `${repository}/commits/${segment(ref ?? "HEAD")}`;
			const { id } = await ask(commit, z.object({ id: Sha }));
			const archive = `${repository}/archive.tar.gz?sha=${id}`;
			return { tag: id, latest_tag: id, archive };
		},
	};
}

/** How a registry is asked, all within this time. What goes wrong is put in words that hold no address and no token. */
function visit(registry: Registry, milliseconds: number) {
	const signal = AbortSignal.timeout(milliseconds);
	const { what } = registry;

	const get = (address: string, limit: number) =>
		follow(registry, address, signal)
			.then((answer) => body(answer, what, limit))
			.catch((error: unknown) => {
				if (error instanceof ApiError) throw error;
				const within = signal.aborted ? ` within ${milliseconds / 1000} seconds` : "";
				throw invalid(null, `Could not reach ${what}${within}.`);
			});

	const ask: Ask = async (address, shape) => {
		const bytes = await get(address, MAX_DOCUMENT_BYTES);
		try {
			return shape.parse(JSON.parse(new TextDecoder().decode(bytes)));
		} catch {
			throw invalid(null, `Could not read what is said of ${what}.`);
		}
	};

	return { ask, get };
}

/** Redirects are followed by hand: none leads to an address that isn't configured, or takes the token elsewhere. */
async function follow(
	{ base, archives, headers, what }: Registry,
	address: string,
	signal: AbortSignal,
) {
	const home = new URL(base.replace(/\/*$/, "/"));
	const origins = [home, ...(archives ? [new URL(archives)] : [])].map(({ origin }) => origin);
	let url = new URL(address, home);
	for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
		if (!origins.includes(url.origin))
			throw invalid(null, `Could not reach ${what}: it is kept at a host that is not configured.`);
		const answer = await fetch(url, {
			redirect: "manual",
			signal,
			headers: {
				"user-agent": "tenantry",
				...(url.origin === home.origin && headers),
			},
		});
		const location = answer.headers.get("location");
		if (answer.status < 300 || answer.status >= 400 || !location) return answer;
		await answer.body?.cancel();
		url = new URL(location, url);
	}
	throw invalid(null, `Could not reach ${what}: it is redirected too often.`);
}

/** GitHub answers 422 where a commit is named that isn't there. */
const MISSING = [404, 410, 422];

async function body(answer: Response, what: string, limit: number) {
	if (MISSING.includes(answer.status)) throw invalid(null, `Could not find ${what}.`);
	if (!answer.ok)
		throw invalid(
			null,
			`Could not reach ${what}: the answer was the HTTP status ${answer.status}.`,
		);
	const chunks: Uint8Array[] = [];
	let length = 0;
	for await (const chunk of answer.body ?? []) {
		length += chunk.length;
		if (length > limit)
			throw invalid(null, `Could not read ${what}: it is larger than ${limit / MIB} MiB.`);
		chunks.push(chunk);
	}
	return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
