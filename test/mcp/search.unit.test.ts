import { expect, test } from "vitest";
import { searchOf } from "../../src/mcp/server/search.ts";
import { offline } from "./offline.ts";

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
kick someone out → removeMember
offboard user → removeMember
add teammate → createInvite
fill a gap → backfillBatchExport
remove an employee who left → removeMember
bring a new colleague on board → createInvite
give someone admin rights → updateMember
demote an owner → updateMember
who is an admin → listMembers
who has access to this project → listProjectMembers
make a project private → updateProject|createProject
delete a workspace → deleteOrganization
create a team → createOrganization
new project → createProject
delete a project → deleteProject
my profile → getUser
change my name → updateUser
log out everywhere → endOtherSessions
sign out a device → endSession
which devices am I logged in on → listSessions
which apps can access my account → listOauthGrants
revoke access of an app → revokeOauthGrant
unlink google → deleteIdentity
register an oauth app → createOauthClient
trust github actions → createTrustedIssuer
provision users from okta → createScimToken|listScimTokens
scim groups → listScimGroups
disconnect okta → deleteScimToken
connect okta → updateDomain
add our domain → createDomain
lost my phone → replaceTwoFactorCodes|disableTwoFactor
add a security key → beginPasskey|createPasskey
remove a passkey → removePasskey
missing rows → backfillBatchExport
send data to bigquery → createBatchExport
copy events to postgres → createBatchExport
export every hour → updateBatchExport|createBatchExport
export logs → listBatchExportLogs|listBatchExportRunLogs
delete an export → deleteBatchExport
try the destination before saving → testNewBatchExport
send an event → ingestEvents
import events → ingestEvents
notify slack → createWebhook
get notified about changes → createWebhook|updateNotifications
webhook signing secret → rollWebhook|createWebhook
siem → createAuditStream
splunk → createAuditStream
who changed what → listActivity
what happened yesterday → listActivity|listFeedEvents
follow events as they happen → listFeedEvents
plugin from npm → createDestination|createFrontendApp|createImportApp
configure a plugin → createPluginConfig|updatePluginConfig
run a plugin job now → startPluginConfigJob
plugin settings → updatePluginConfig|createPluginConfig
read plugin source → getDestinationSource|getFrontendAppSource|getImportAppSource
key usage → listPersonalApiKeyUsage
shorten sessions → updateOrganization
log people out after inactivity → updateOrganization
block an app → updateOrganization
fire someone → removeMember
deactivate a user → removeMember
transfer ownership → updateMember
bulk invite → createInvites
who was invited → listInvites
rerun failed exports → retryBatchExportRun|listBatchExportRuns
export stuck → listBatchExportRuns|cancelBatchExportRun
export as parquet → createBatchExport|listBatchExports
webhook failing → listWebhookDeliveries
api key leaked → revokePersonalApiKey
which keys expire soon → listPersonalApiKeys
ip allowlist → updatePersonalApiKey
saml certificate → updateDomain
test single sign-on → createSignInTest
download audit trail → listActivity
leave company → removeMember
`;

const rows = QUESTIONS.trim()
	.split("\n")
	.map((line) => line.split(" → "))
	.map(([question = "", wanted = ""]) => [question, wanted.split(" ")] as const);

/** Returns the ids of the operations that a text finds, best first. */
async function find(search: string) {
	const found = (await searchOf(offline)).find(search);
	return found.map(({ operationId }) => operationId);
}

test.each(rows)("the first five operations for %j have %s", async (search, wanted) => {
	const first = (await find(search)).slice(0, 5);
	for (const choices of wanted)
		expect(
			choices.split("|").some((id) => first.includes(id)),
			`${choices} isn't in ${first}`,
		).toBe(true);
});

test("one word of many is enough, and more words match better", async () => {
	const [first] = await find(`${"xq ".repeat(60)}webhook`);
	expect(first).toContain("Webhook");
	for (const search of ["webhook deliveries", "deliveries of a webhook xq"])
		expect((await find(search))[0]).toBe("listWebhookDeliveries");
});

test("descriptions and names of fields count", async () => {
	expect(await find("unsubscribe")).toContain("listDestinationExportConfigs");
	expect((await find("txt records"))[0]).toBe("verifyDomain");
	expect((await find("jit provisioning"))[0]).toBe("updateDomain");
});

test.each([
	["webook", "createWebhook"],
	["verfy domian", "verifyDomain"],
	["exprot", "listBatchExports"],
])("a misspelled text like %j finds nothing; a guess has %s", async (search, near) => {
	expect(await find(search)).toEqual([]);
	const guessed = (await searchOf(offline)).guess(search);
	expect(guessed.slice(0, 5).map(({ operationId }) => operationId)).toContain(near);
});

test.each(["how do I", "zzz"])("%j finds nothing, and there is no guess", async (search) => {
	expect(await find(search)).toEqual([]);
	expect((await searchOf(offline)).guess(search)).toEqual([]);
});
