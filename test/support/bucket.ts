/**
 * Starts an S3 server with a bucket `exports`. It is R2's, which checks signatures and enforces the
 * rules of multipart uploads.
 */
import { KEYS } from "./keys.ts";
import { onDemand, startServer } from "./peers.ts";

export { KEYS };

export async function buckets() {
	const port = await onDemand("The bucket", () =>
		startServer("bucket", (port) => [process.execPath, import.meta.filename, String(port)], {
			signal: "TERM",
		}),
	);
	return { S3_URL: `http://127.0.0.1:${port}/cdn-cgi/local/r2/s3` };
}

if (import.meta.main) {
	const { convertV4MiniflareOptions, Miniflare } = await import("miniflare");
	const server = new Miniflare(
		convertV4MiniflareOptions({
			cf: false,
			host: "127.0.0.1",
			port: Number(process.argv[2]),
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
	process.on("SIGTERM", () => server.dispose().then(() => process.exit()));
	await server.ready;
}
