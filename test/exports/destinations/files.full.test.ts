import { beforeAll, describe } from "vitest";
import { createContainer } from "../../support/azure.ts";
import {
	AzureBlob,
	formats,
	GCS,
	kinds,
	R2,
	S3,
	testBucket,
	testLargeBucket,
	testManifest,
	testRows,
} from "./bucket_cases.ts";

beforeAll(createContainer);

describe("S3", () => {
	for (const format of formats) testManifest(S3, format, 20_000);
	for (const n of [0, 1]) for (const format of formats) testRows(S3, format, n);
	testLargeBucket(S3);
});

describe("R2", () => {
	for (const format of kinds) testRows(R2, format, 1000);
	testLargeBucket(R2);
});

describe("GCS", () => {
	for (const n of [0, 1]) for (const format of kinds) testRows(GCS, format, n);
	testBucket(GCS);
	testLargeBucket(GCS);
});

describe("AzureBlob", () => {
	for (const n of [0, 1]) for (const format of kinds) testRows(AzureBlob, format, n);
	testBucket(AzureBlob);
	testLargeBucket(AzureBlob);
});
