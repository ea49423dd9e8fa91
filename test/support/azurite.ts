/** Serves Azure Blob Storage: Azurite, which checks signatures and shared access signatures, and knows blocks. */
import { onDemand, startServer } from "./peers.ts";

/** The account that Azurite has unless it is told another, and that account's key. Microsoft publishes both. */
export const ACCOUNT = {
	account_name: "devstoreaccount1",
	account_key:
		"Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
};

const PROGRAM = `${import.meta.dirname}/../../node_modules/azurite/dist/src/blob/main.js`;

export async function azurites() {
	const port = await onDemand("Azurite", () =>
		startServer("azurite", (port) => [
			process.execPath,
			PROGRAM,
			...["--blobPort", String(port)],
			"--inMemoryPersistence",
			"--disableTelemetry",
			"--silent",
		]),
	);
	return { AZURE_URL: `http://127.0.0.1:${port}/${ACCOUNT.account_name}` };
}
