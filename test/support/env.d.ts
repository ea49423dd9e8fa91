declare namespace Cloudflare {
	interface Env {
		MIGRATIONS: import("@cloudflare/vitest-plugin").D1Migration[];
		/** A real resolver with the same records as the stub at DOH_URL; "" if none is installed. */
		DOH_REAL: string;
		/** A resolver that never responds, and one that closes every connection. */
		DOH_SILENT: string;
		DOH_NOBODY: string;
		/** A host that plugins can't be installed from. It counts its requests. */
		FOREIGN_URL: string;
		/** The registry that npm on this machine uses; "" if there is none. */
		PUBLISHED_NPM_REGISTRY_URL: string;
		/** An S3 server with a bucket `exports`. */
		S3_URL: string;
		/** A Google Cloud Storage with a bucket `exports`. */
		GCS_URL: string;
		/** The blob service of an Azure storage account. */
		AZURE_URL: string;
		/** Proxies in front of these three (test/support/faults.ts). */
		S3_FAULTS_URL: string;
		GCS_FAULTS_URL: string;
		AZURE_FAULTS_URL: string;
		/** A PostgreSQL without TLS, and one that offers TLS; "" if none is installed. */
		POSTGRES_PORT: string;
		POSTGRES_TLS_PORT: string;
		/** A server that stores requests and returns them to tests. */
		RECEIVER_URL: string;
		/** Servers that receive entries of audit streams (test/support/siems.ts). */
		SIEM_URL: string;
		/** `oidc-provider`, and a provider that says whatever a test wants. */
		PROVIDER_URL: string;
		LIAR_URL: string;
		/** A BigQuery, and the key of its service account. */
		BIGQUERY_URL: string;
		BIGQUERY_PRIVATE_KEY: string;
		/** An Iceberg REST catalog, and a proxy in front of it (test/support/faults.ts). */
		ICEBERG_URL: string;
		/** How many windows tests write to each of ten tables. */
		ICEBERG_WINDOWS: string;
		MOTO_URL: string;
		ICEBERG_FAULTS_URL: string;
		/** A SAML provider (test/support/saml.ts). */
		SAML_PROVIDER_URL: string;
	}
}

declare module "*?raw" {
	const text: string;
	export default text;
}
