import { expect, test } from "vitest";
import { azure } from "../../../src/exports/destinations/azure/definition.ts";
import { gcs } from "../../../src/exports/destinations/gcs/definition.ts";
import { s3 } from "../../../src/exports/destinations/s3/definition.ts";

const S3 = { bucket_name: "exports", prefix: "", region: "eu-north-1" };

test.each([
	[{}, "https://s3.eu-north-1.amazonaws.com/exports"],
	[{ use_virtual_style_addressing: true }, "https://exports.s3.eu-north-1.amazonaws.com/"],
	[{ endpoint_url: "http://s3.example:9000/" }, "http://s3.example:9000/exports"],
	[
		{ endpoint_url: "http://s3.example:9000/", use_virtual_style_addressing: true },
		"http://exports.s3.example:9000/",
	],
])("S3's bucket with %j is at %s", (more, url) => {
	expect(s3.url?.(s3.config.parse({ ...S3, ...more })).href).toBe(url);
});

test.each([
	[null, "https://storage.googleapis.com/exports"],
	["https://storage.example/", "https://storage.example/exports"],
])("Google's bucket with the endpoint %s is at %s", (endpoint_url, url) => {
	const config = { bucket_name: "exports", prefix: "", endpoint_url };
	expect(gcs.url?.(gcs.config.parse(config)).href).toBe(url);
});

test.each([
	[null, "https://acme.blob.core.windows.net/exports"],
	["https://acme.blob.core.chinacloudapi.cn/", "https://acme.blob.core.chinacloudapi.cn/exports"],
	["http://127.0.0.1:10000/acme", "http://127.0.0.1:10000/acme/exports"],
])("Azure's container with the endpoint %s is at %s", (endpoint_url, url) => {
	const config = { container_name: "exports", prefix: "", account_name: "acme", endpoint_url };
	const parsed = azure.config.parse({ ...config, account_key: "c2VjcmV0" });
	expect(azure.url?.(parsed).href).toBe(url);
});
