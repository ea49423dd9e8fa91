/**
 * Starts moto, which has STS, IAM and S3 of AWS. It checks signatures, and what a role may do. It
 * accepts every token: what STS checks is in `clouds.ts`.
 */
import { NotInstalled, onDemand, startServer } from "./peers.ts";
import { pythonWith } from "./python.ts";

const MOTO = "moto[server,s3,sts,iam]==5.2.1";

/** The bucket, and the role that may use it below `allowed/`. */
export const MOTO_BUCKET = "moto-exports";
export const MOTO_ROLE = "arn:aws:iam::123456789012:role/exporter";

const POLICY = {
	Version: "2012-10-17",
	Statement: [
		{
			Effect: "Allow",
			Action: ["s3:PutObject", "s3:GetObject", "s3:DeleteObject", "s3:AbortMultipartUpload"],
			Resource: `arn:aws:s3:::${MOTO_BUCKET}/allowed/*`,
		},
		{ Effect: "Allow", Action: "s3:ListBucket", Resource: `arn:aws:s3:::${MOTO_BUCKET}` },
	],
};

async function prepare(url: string) {
	const ask = async (path: string, method: string, body: BodyInit, service: string) => {
		const authorization = `AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/${service}/aws4_request, SignedHeaders=host, Signature=x`;
		const response = await fetch(url + path, { method, body, headers: { authorization } });
		if (!response.ok) throw new Error(await response.text());
	};
	const iam = (parameters: Record<string, string>) =>
		ask("/", "POST", new URLSearchParams({ Version: "2010-05-08", ...parameters }), "iam");
	await ask(`/${MOTO_BUCKET}`, "PUT", "", "s3");
	const RoleName = "exporter";
	await iam({ Action: "CreateRole", RoleName, AssumeRolePolicyDocument: "{}" });
	const PolicyDocument = JSON.stringify(POLICY);
	await iam({ Action: "PutRolePolicy", RoleName, PolicyName: "exports", PolicyDocument });
	// From now on, requests must be signed and allowed.
	await ask("/moto-api/reset-auth", "POST", "0", "s3");
}

export async function motos() {
	const port = await onDemand("moto", async () => {
		const python = await pythonWith([MOTO]).catch((error: unknown) => {
			throw error instanceof NotInstalled ? error : new NotInstalled(String(error));
		});
		const started = await startServer("moto", (port) => [
			...[python, "-m", "moto.server", "-H", "127.0.0.1", "-p", String(port)],
		]);
		await prepare(`http://127.0.0.1:${started}`);
		return started;
	});
	return { MOTO_URL: `http://127.0.0.1:${port}` };
}
