/**
 * Starts Azurite, an emulator of Azure Blob Storage that checks signatures and shared access
 * signatures.
 */
import { onDemand, startServer } from "./peers.ts";

/** Azurite's default account and its key. Microsoft publishes both. */
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
