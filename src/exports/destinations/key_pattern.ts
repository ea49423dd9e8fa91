import type { Model } from "../query/rows.ts";
import { containerUrl } from "./azure/bucket.ts";
import { configs } from "./configs.ts";
import { filePattern } from "./files/keys.ts";
import { gcsBucketUrl } from "./gcs/bucket.ts";
import { bucketUrl } from "./s3/bucket.ts";

/**
 * Returns the pattern of the keys that an export writes, to compare with the patterns of other
 * exports. Null if the export doesn't write objects, or if its config isn't valid any more.
 * @param config without secrets
 */
export function keyPattern(
	{ type, config }: { type: string; config: unknown },
	model: Model,
): string | null {
	const s3 = configs.S3.safeParse(config).data;
	if (type === "S3") return s3 ? `${bucketUrl(s3).href} ${filePattern(s3, model)}` : null;
	const r2 = configs.R2.safeParse(config).data;
	if (type === "R2") return r2 ? filePattern(r2, model) : null;
	const azure = configs.AzureBlob.safeParse(config).data;
	if (type === "AzureBlob")
		return azure ? `${containerUrl(azure).href} ${filePattern(azure, model)}` : null;
	const gcs = configs.GCS.safeParse(config).data;
	return type === "GCS" && gcs ? `${gcsBucketUrl(gcs).href} ${filePattern(gcs, model)}` : null;
}
