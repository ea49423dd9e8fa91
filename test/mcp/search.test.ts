import { describe, expect, test } from "vitest";
import { connect } from "../support/mcp.ts";
import { world } from "../support/world.ts";

/** Questions, with the operations that each must show: one of those that `|` separates. */
const QUESTIONS = `
invite someone → createInvite
invite ten people at once → createInvites
resend an invite → createInvite
pending invitations → listInvites
cancel an invitation → deleteInvite
promote → updateMember
member admin → updateMember
make someone an owner → updateMember
kick a user out → removeMember
leave the organization → removeMember
give access to a private project → addProjectMember
who can see this project → listProjectMembers
take away project access → removeProjectMember
rename the company → updateOrganization
switch my current organization → updateUser
enforce 2fa for everyone → updateOrganization
rotate → rollPersonalApiKey
rotate key → rollPersonalApiKey rollServiceAccountKey
reset key → rollPersonalApiKey
make an api token → createPersonalApiKey
delete a token → revokePersonalApiKey
when was a key last used → listPersonalApiKeyUsage
limit a key to an ip address → updatePersonalApiKey|createPersonalApiKey
create a bot → createServiceAccount
keys must expire → updateOrganization
failed → listBatchExportRuns|listBatchExportRunLogs listWebhookDeliveries
why did export fail → listBatchExportRuns|listBatchExportLogs
stop an export → pauseBatchExport
resume the export → unpauseBatchExport
export historical data → backfillBatchExport
set up an export to s3 → createBatchExport
run an export again → retryBatchExportRun
how many rows were exported → listBatchExportMetrics
change the export schedule → updateBatchExport
check the bucket credentials → testBatchExport|testNewBatchExport
abort a running export → cancelBatchExportRun
add a hook → createWebhook
webhook not delivered → listWebhookDeliveries
resend a webhook event → replayWebhookDelivery
rotate webhook secret → rollWebhook
send a test event to the endpoint → testWebhook
disable a webhook → updateWebhook
install an app → createDestination|createFrontendApp|createImportApp
update a plugin to the newest version → upgradeDestination|upgradeFrontendApp|upgradeImportApp
edit plugin code → updateDestinationSource|updateFrontendAppSource|updateImportAppSource
turn off a plugin → updatePluginConfig
plugin errors → listPluginConfigLogs
change the order of plugins → rearrangePluginConfigs
uninstall a plugin → deleteDestination|deleteFrontendApp|deleteImportApp
verify our domain → verifyDomain
dns record → verifyDomain|createDomain
enforce sso → updateDomain
set up mfa → beginTwoFactor
new backup codes → replaceTwoFactorCodes
turn off 2fa → disableTwoFactor
who deleted the project → listActivity|listProjectActivity
audit log → listActivity
stream the audit log to a bucket → createAuditStream
history of a project → listProjectActivity
email me when an export fails → updateNotifications
`;

const rows = QUESTIONS.trim()
	.split("\n")
	.map((line) => line.split(" → "))
	.map(([question = "", wanted = ""]) => [question, wanted.split(" ")] as const);

const UNLIMITED = { REQUESTS: { limit: async () => ({ success: true }) } };

let shared: ReturnType<typeof connect> | undefined;

/** Returns the ids of the operations that list_operations finds, and the rest of its result. */
async function find(given: Record<string, unknown>) {
	shared ??= connect((await world()).key, { env: UNLIMITED });
	const { tool } = await shared;
	const { operations, nearest, ...rest } = await tool("list_operations", given);
	const idsOf = (list: { operationId: string }[]) => list.map(({ operationId }) => operationId);
	return { found: idsOf(operations), nearest: nearest && idsOf(nearest), ...rest };
}

describe("the first five operations", () => {
	test.each(rows)("for %j have %s", async (search, wanted) => {
		const { found } = await find({ search });
		expect(found.length).toBeLessThanOrEqual(10);
		const first: string[] = found.slice(0, 5);
		for (const choices of wanted)
			expect(
				choices.split("|").some((id) => first.includes(id)),
				`${choices} isn't in ${first}`,
			).toBe(true);
	});
});

test("one word of many is enough, and more words match better", async () => {
	const { found } = await find({ search: `${"xq ".repeat(60)}webhook` });
	expect(found[0]).toContain("Webhook");
	expect((await find({ search: "webhook deliveries" })).found[0]).toBe("listWebhookDeliveries");
	expect((await find({ search: "deliveries of a webhook xq" })).found[0]).toBe(
		"listWebhookDeliveries",
	);
});

test("descriptions and names of fields count", async () => {
	expect((await find({ search: "unsubscribe" })).found).toContain("listDestinationExportConfigs");
	expect((await find({ search: "txt records" })).found[0]).toBe("verifyDomain");
	expect((await find({ search: "jit provisioning" })).found[0]).toBe("updateDomain");
});

test("a search that finds nothing suggests the nearest operations", async () => {
	for (const [search, near] of [
		["webook", "createWebhook"],
		["verfy domian", "verifyDomain"],
		["exprot", "listBatchExports"],
	] as const) {
		const { found, nearest, tags } = await find({ search });
		expect(found).toEqual([]);
		expect(nearest.length).toBeLessThanOrEqual(5);
		expect(nearest).toContain(near);
		expect(tags).toContain("Members");
	}
	expect(await find({ search: "zzz" })).toMatchObject({ found: [], nearest: [] });
});

test("filters apply to a search; if they leave nothing, it suggests what it found", async () => {
	const members = await find({ search: "level", tag: "members", changes: true });
	expect(members.found[0]).toBe("updateMember");
	expect(members.found.every((id: string) => id.endsWith("Member"))).toBe(true);
	expect((await find({ search: "rotate", changes: true })).found).toContain("rollPersonalApiKey");
	const { found, nearest } = await find({ search: "rotate", changes: false, tag: "Webhooks" });
	expect([found, nearest[0]]).toEqual([[], "rollWebhook"]);
});

test("words without a meaning find nothing, and a text of more than 200 characters is an error", async () => {
	expect(await find({ search: "how do I" })).toMatchObject({ found: [], nearest: [] });
	const { tool } = await connect((await world()).key);
	expect(await tool("list_operations", { search: "x".repeat(201) })).toMatchObject({
		isError: true,
	});
});
