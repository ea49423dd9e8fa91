import { MisconfiguredError } from "../../../outbound/errors.ts";
import { elementOf } from "../../../outbound/quote.ts";
import { addressOf, type HttpResponse, unavailable } from "../../../outbound/send.ts";
import { problemOf } from "../buckets/client.ts";
import type { Settings } from "./definition.ts";

export const INCOMPATIBLE = "it doesn't respond like Blob Storage. Check endpoint_url";

/** Error codes that are temporary although their status is below 500. */
const TEMPORARY = [
	"AccountBeingCreated",
	"BlobAlreadyExists",
	"ConditionNotMet",
	"ContainerBeingDeleted",
	"LeaseIdMissing",
	"PendingCopyOperation",
	"SystemInUse",
];

/**
 * The meaning of error codes for the user (Azure Storage: "Common REST API error codes", "Blob
 * Storage error codes"). For other codes, the server's own message is shown.
 */
const MEANINGS = {
	AccountIsDisabled: "The storage account is disabled.",
	AuthorizationFailure:
		"The storage account's firewall doesn't let this service in, or the SAS token doesn't allow this.",
	AuthorizationPermissionMismatch:
		"The SAS token lacks a permission: it needs read, create, write, delete and list.",
	AuthorizationProtocolMismatch:
		"The SAS token allows only HTTPS: endpoint_url must begin with https://.",
	AuthorizationResourceTypeMismatch: "The SAS token must include the resource type object (srt=o).",
	AuthorizationServiceMismatch: "The SAS token isn't for Blob Storage (ss=b).",
	BlobAlreadyExists: "The blob was changed at the same time.",
	ConditionNotMet: "The blob was changed at the same time.",
	InvalidBlobOrBlock: "The blob has blocks that another tool uploaded and didn't commit.",
	KeyBasedAuthenticationNotPermitted:
		"The storage account doesn't allow access by account key: allow it, or use a user delegation SAS.",
	LeaseIdMissing: "Another program holds a lease on the blob or its container.",
};

/** Returns the error code; "" if there is none. Responses to HEAD have it only in a header. */
export const codeOf = ({ headers, text }: HttpResponse) =>
	headers.get("x-ms-error-code") ?? /<Code>(\w{1,64})<\/Code>/.exec(text)?.[1] ?? "";

/** Whether the server rejects the signature. Azurite sends the code for a missing permission. */
export const isUnauthenticated = (response: HttpResponse) =>
	["AuthenticationFailed", "InvalidAuthenticationInfo", "NoAuthenticationInformation"].includes(
		codeOf(response),
	) || elementOf("Message", response.text).startsWith("Server failed to authenticate the request.");

/** Returns the error for a rejected signature, without the signed text in the message. */
function rejection(response: HttpResponse, { sas_token, client_id }: Settings) {
	const detail = elementOf("AuthenticationErrorDetail", response.text);
	if (client_id)
		return new MisconfiguredError(
			`The storage account rejects the application's token: it must be in the application's tenant. ${response.describe()}`,
		);
	if (!sas_token)
		return /date header/i.test(detail)
			? unavailable(response, "The server's clock differs too much from this service's clock.")
			: new MisconfiguredError("The account key is wrong.");
	const expiry = new URLSearchParams(sas_token).get("se") ?? "";
	if (Date.parse(expiry) < Date.now())
		return new MisconfiguredError(`The SAS token expired at ${expiry}.`);
	return new MisconfiguredError(
		/time frame/.test(detail)
			? "The SAS token isn't valid yet, or has expired."
			: "The SAS token is wrong, has expired, or was revoked.",
	);
}

export const secretsOf = ({ account_key, sas_token }: Settings) =>
	[
		account_key,
		sas_token,
		sas_token && /sig=([^&]*)/.exec(sas_token)?.[1],
		sas_token && new URLSearchParams(sas_token).get("sig"),
	].filter((secret) => typeof secret === "string");

export function explain(response: HttpResponse, config: Settings, url: URL): Error {
	const code = codeOf(response);
	if (isUnauthenticated(response)) return rejection(response, config);
	if (response.status >= 300 && response.status < 400)
		return new MisconfiguredError(
			`${addressOf(url)} doesn't respond like Blob Storage: check endpoint_url.`,
		);
	const ContainerNotFound = `There is no container "${config.container_name}".`;
	const AuthorizationPermissionMismatch = config.client_id
		? "The application lacks a permission: it needs the role Storage Blob Data Contributor on the container."
		: MEANINGS.AuthorizationPermissionMismatch;
	return problemOf(code, response, {
		temporary: TEMPORARY,
		meanings: new Map(
			Object.entries({ ...MEANINGS, ContainerNotFound, AuthorizationPermissionMismatch }),
		),
		rejected: "Blob Storage rejected the request.",
	});
}

/** Returns the error for a write that isn't confirmed by a 201 with an ETag. */
export const notStored = (url: URL) =>
	new MisconfiguredError(
		`${addressOf(url)} didn't confirm that it stored the blob: ${INCOMPATIBLE}.`,
	);
