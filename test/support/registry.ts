import { execFile } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { listen } from "./peers.ts";

const execute = promisify(execFile);

/** Commits of the repositories below: of the default branch and of a tag. */
export const HEAD = "1".repeat(40);
export const RELEASE = "2".repeat(40);
export const TOKEN = "private-token-of-nobody";

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

/** Starts a server that runs until the process ends. Returns its origin. */
export const serve = async (handler: Handler) =>
	`http://127.0.0.1:${await listen(createServer(handler))}`;

const JOBS = "exports.jobs = { go() { console.log('built') } };\n";

/** The files of packages whose main file isn't in the first place that is checked. */
const BUILT: Record<string, Record<string, string>> = {
	built: { "dist/index.js": JOBS },
	"large-manifest": { "plugin.json": `{"name": ${" ".repeat(2 ** 20)}`, "index.js": "" },
	enriching: {
		"plugin.json": JSON.stringify({ name: "Enriching" }),
		"index.js": "export function processEvent(event) { return event }\n",
	},
	greeting: {
		"plugin.json": JSON.stringify({
			name: "Greeting",
			description: "Writes a greeting into its log.",
			config: [
				{ key: "greeting", name: "Greeting", type: "string", required: true, default: "Hello" },
				{ key: "tone", name: "Tone", type: "choice", choices: ["quiet", "loud"], default: "quiet" },
				{ key: "token", name: "Access token", type: "string", secret: true },
				{ key: "extra", name: "Extra", type: "json" },
			],
			publicJobs: {
				greet: { payload: { name: { title: "Name", type: "string", required: true } } },
			},
		}),
		"index.js":
			"exports.jobs = { greet({ name }, { config }) { console.log(config.greeting + ', ' + name + '!') } };\nexports.onEvent = () => {};\n",
	},
	stated: {
		"plugin.json": JSON.stringify({ main: "./dist/main.js" }),
		"dist/index.js": "",
		"dist/main.js": JOBS,
	},
};

/**
 * Returns a tarball of a plugin. All files are in one folder, as in the archives of npm, GitHub and
 * GitLab.
 */
async function plugin(folder: string, name: string, built?: string) {
	const files = {
		"plugin.json": JSON.stringify({ name }),
		...(BUILT[built ?? ""] ?? { "index.js": "export function onEvent() {}\n" }),
	};
	const entries = Object.entries(files).map(([path, body]) => ({
		header: { name: `${folder}/${path}`, size: body.length },
		body,
	}));
	return gzipSync(await packTar(entries));
}

const json = (response: ServerResponse, value: unknown) =>
	response.setHeader("content-type", "application/json").end(JSON.stringify(value));

const missing = (response: ServerResponse, status = 404) => {
	response.statusCode = status;
	response.end();
};

const redirect = (response: ServerResponse, location: string) => {
	response.statusCode = 302;
	response.setHeader("location", location).end();
};

/** Whether a name is `limited-` and a status with headers (base64url of JSON), which it sends. */
function isLimited(name: string, response: ServerResponse) {
	const [, coded] = /^limited-(.+)$/.exec(name) ?? [];
	if (!coded) return false;
	const { status, headers } = JSON.parse(Buffer.from(coded, "base64url").toString());
	response.writeHead(status, headers).end("Slow down.");
	return true;
}

/** Sends this many bytes. */
function flood(response: ServerResponse, bytes: number) {
	const chunk = Buffer.alloc(2 ** 16);
	for (let left = bytes; left > 0; left -= chunk.length) response.write(chunk.subarray(0, left));
	response.end();
}

/** The registry that `npm` on this machine uses; "" without npm. */
const published = () =>
	execute("npm", ["config", "get", "registry"]).then(
		({ stdout }) => stdout.trim(),
		() => "",
	);

/**
 * Starts stubs of npm's registry, GitHub and GitLab on loopback, with packages that fail in
 * different ways. GitHub's archives are at another origin. `FOREIGN_URL` is a host that must not be
 * called; it counts requests.
 */
export async function registries() {
	let asked = 0;
	const foreign = await serve((_, response) => json(response, { asked: asked++ }));

	const archives = await serve(async ({ url, headers }, response) => {
		// The token must not be sent to this host.
		if (headers.authorization) return missing(response, 500);
		const [, repository = "", sha = ""] = /^\/u\/(.+)\/(.+)$/.exec(url ?? "") ?? [];
		response.end(await plugin(`u-${repository}-${sha.slice(0, 7)}`, sha));
	});

	const npm: Handler = async ({ url = "", headers }, response) => {
		const here = `http://${headers.host}/npm`;
		const [, name = "", file] = /^\/npm\/((?:@[^/]+%2F)?[^/]+)(?:\/-\/(.+))?$/.exec(url) ?? [];
		const tarball = `${here}/${name}/-/1.1.0.tgz`;
		if (name === "hanging" || isLimited(name, response)) return;
		if (name === "dripping") return response.write("{");
		if (name === "failing") return missing(response, 503);
		if (name === "talking") return response.end("Hello!");
		if (name === "flooding" && !file) return flood(response, 5 * 2 ** 20);
		if (name === "private" && headers.authorization !== `Bearer ${TOKEN}`) return missing(response);
		if (name === "long-version")
			return json(response, { "dist-tags": { latest: `1.${"0".repeat(199)}` }, versions: {} });
		if (name === "absent" || name === "") return missing(response);
		if (!file)
			return json(response, {
				"dist-tags": { latest: "1.1.0" },
				versions: {
					"1.0.0": { dist: { tarball: `${here}/${name}/-/1.0.0.tgz` } },
					"1.1.0": {
						dist: {
							tarball: name === "foreign" ? `${foreign}/foreign.tgz` : tarball,
						},
					},
				},
			});
		if (name === "straying") return redirect(response, `${foreign}/a.tgz`);
		if (name === "looping") return redirect(response, tarball);
		if (name === "moved" && !file.startsWith("new-")) return redirect(response, `new-${file}`);
		if (name === "huge") return flood(response, 10 * 2 ** 20 + 1);
		if (name === "full") return flood(response, 10 * 2 ** 20);
		response.end(await plugin("package", file, name));
	};

	/** A custom list of plugins. `…/none` returns a document that isn't a list. */
	const lists: Handler = ({ url = "" }, response) =>
		json(
			response,
			url.endsWith("none")
				? { plugins: [] }
				: [
						{
							name: "Own",
							url: "https://github.com/u/own",
							description: "Ours alone.",
							verified: false,
							maintainer: "us",
							type: "other",
						},
					],
		);

	const github: Handler = ({ url = "", headers }, response) => {
		const [, name, kind, ref = ""] =
			/^\/github\/repos\/u\/([^/]+)\/(commits|tarball)\/([^/]+)$/.exec(url) ?? [];
		if (name && isLimited(name, response)) return;
		if (!name || !headers["user-agent"]) return missing(response);
		if (name === "private" && headers.authorization !== `Bearer ${TOKEN}`) return missing(response);
		if (kind === "tarball")
			return redirect(response, `${name === "straying" ? foreign : archives}/u/${name}/${ref}`);
		const sha = { HEAD, "v1%2Fx": RELEASE, [RELEASE]: RELEASE }[ref];
		return sha ? json(response, { sha }) : missing(response, 422);
	};

	const gitlab: Handler = async ({ url = "", headers }, response) => {
		const [, name, ref, sha] =
			/^\/gitlab\/projects\/g%2Fsub%2F([^/]+)\/repository\/(?:commits\/([^/]+)|archive\.tar\.gz\?sha=(.+))$/.exec(
				url,
			) ?? [];
		if (name && isLimited(name, response)) return;
		if (!name) return missing(response);
		if (name === "private" && headers["private-token"] !== TOKEN) return missing(response);
		if (sha) return response.end(await plugin(`${name}-${sha}`, sha));
		const id = { HEAD, v1: RELEASE }[ref ?? ""];
		return id ? json(response, { id }) : missing(response);
	};

	const origin = await serve((request, response) => {
		const [, registry = ""] = request.url?.split("/") ?? [];
		return ({ npm, github, gitlab, lists }[registry] ?? ((_, r) => missing(r)))(request, response);
	});
	return {
		NPM_REGISTRY_URL: `${origin}/npm/`,
		GITHUB_API_URL: `${origin}/github`,
		GITHUB_ARCHIVE_URL: archives,
		GITLAB_API_URL: `${origin}/gitlab`,
		FOREIGN_URL: foreign,
		PUBLISHED_NPM_REGISTRY_URL: await published(),
	};
}
