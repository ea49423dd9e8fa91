/** Words that say nothing about an operation. */
export const FILLERS =
	"a all am an and any are as at be by can did do does everyone for from has have how i if in is it its me my no not of on one or our s so that the their them there these they this to up us was we what when where which why will with you your";

/** Words that people use, each line with what operations are called instead. */
export const SYNONYMS: [said: string, meant: string][] = [
	["people person someone somebody user teammate colleague staff", "member"],
	["who", "member activity"],
	["access", "member"],
	["promote demote role permission admin owner", "level"],
	["kick ban", "remove"],
	["company workspace team", "organization"],
	["bot robot machine", "service account"],
	["token credential", "key"],
	["rotate reset regenerate", "roll"],
	["mfa 2fa totp authenticator", "factor"],
	["login saml", "sso"],
	["fail error broken crash", "run delivery log"],
	["old past historical", "backfill"],
	["schedule frequency", "interval"],
	["rows count number amount", "total"],
	["s3 bigquery postgres clickhouse bucket", "destination"],
	["hook callback", "webhook"],
	["again resend redeliver", "replay retry"],
	["app plugin integration extension", "plugin app"],
	["code", "source"],
	["newest latest", "upgrade"],
	["audit history", "activity"],
	["email mail alert", "notifications"],
	["add make new set install", "create"],
	["edit modify rename switch limit", "change"],
	["cancel drop erase uninstall", "delete"],
	["abort stop", "cancel"],
	["stop off", "pause disable enabled"],
	["resume restart enable", "unpause"],
	["check", "test"],
];
