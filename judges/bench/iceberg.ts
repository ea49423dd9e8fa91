/** Runs Iceberg's catalog and an S3 server, to compare a table with the same rows as Parquet files. */
import { buckets, KEYS } from "../../test/support/bucket.ts";
import { icebergs, NAMESPACE, TOKEN } from "../../test/support/iceberg.ts";
import { missing } from "../../test/support/missing.ts";

/** Returns the destinations, by the number of an export. Null if the catalog can't be installed. */
export async function startIceberg() {
	const { S3_URL } = await buckets();
	const { ICEBERG_URL } = await icebergs(S3_URL);
	const headers = { authorization: `Bearer ${TOKEN}` };
	if (await missing("Iceberg's catalog", `${ICEBERG_URL}/v1/config`, { headers })) return null;
	const bucket = { ...KEYS, region: "auto", endpoint_url: S3_URL };
	return {
		toTable: (n: number) => ({
			type: "Iceberg",
			config: {
				...{ ...bucket, catalog_uri: ICEBERG_URL, token: TOKEN, namespace: NAMESPACE },
				table_name: `export_${n}`,
			},
		}),
		toFiles: (n: number) => ({
			type: "S3",
			config: {
				...{ ...bucket, bucket_name: "exports", prefix: `export-${n}` },
				...{ file_format: "Parquet", compression: "zstd" },
			},
		}),
	};
}
