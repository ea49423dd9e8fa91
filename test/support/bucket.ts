/** Serves S3 with a bucket `exports`: R2's, which checks signatures and holds to the rules of multipart uploads. */
import { spawn } from "node:child_process";
import { once } from "node:events";

/** What opens the bucket. */
export const KEYS = {
	aws_access_key_id: "key-of-nobody",
	aws_secret_access_key: "secret-of-nobody",
};

/** Starts it in a process of its own, which ends with this one. */
export async function buckets() {
	const server = spawn(process.execPath, [import.meta.filename], {
		stdio: ["pipe", "pipe", "ignore"],
	});
	const [said] = await once(server.stdout, "data");
	server.unref();
	for (const stream of [server.stdin, server.stdout])
		if ("unref" in stream && typeof stream.unref === "function") stream.unref();
	return { S3_URL: `${String(said).trim()}/cdn-cgi/local/r2/s3` };
}

if (import.meta.main) {
	const { convertV4MiniflareOptions, Miniflare } = await import("miniflare");
	const server = new Miniflare(
		convertV4MiniflareOptions({
			cf: false,
			port: 0,
			modules: true,
			script: "export default { fetch: () => new Response() }",
			r2Buckets: {
				EXPORTS: {
					id: "exports",
					s3Credentials: {
						accessKeyId: KEYS.aws_access_key_id,
						secretAccessKey: KEYS.aws_secret_access_key,
					},
				},
			},
		}),
	);
	console.log((await server.ready).origin);
	process.stdin.on("close", () => server.dispose());
	process.stdin.resume();
}
