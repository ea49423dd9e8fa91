import * as z from "zod";
import { displayName } from "../../http/fields.ts";
import { isLoopback } from "../../http/origins.ts";

/* The metadata that an app gives about itself (RFC 7591, section 2). */

/** The longest name of an app that is shown. */
export const MAX_NAME_CHARACTERS = 40;

/** The name that an app gives itself. Any value is accepted. */
export const appName = (replacement: string) => displayName(MAX_NAME_CHARACTERS, replacement);

/** How many redirect URIs an app can have, and how long they can be. */
export const MAX_REDIRECT_URIS = 50;
export const MAX_URI_CHARACTERS = 2_000;

/**
 * The schemes of URIs that a browser or system opens itself, without a program that was installed
 * for them, or that lead to a server without encryption. All others belong to programs (RFC 8252,
 * section 7.1).
 */
const RESERVED = new Set(
	[
		// Scripts, and pages of the browser.
		"javascript vbscript livescript mocha data file filesystem blob about view-source resource",
		"jar feed mhtml res mk its cid mid content wyciwyg chrome devtools edge brave opera vivaldi",
		"googlechrome googlechromes firefox intent android-app",
		// Servers, and programs that connect to them.
		"http ws wss ftp ftps sftp tftp ssh telnet tn3270 rlogin gopher wais smb cifs nfs afp vnc rdp",
		"dav davs webdav webdavs ldap ldaps imap imaps pop pop3 nntp snews news irc ircs xmpp rtsp rtmp mms",
		"ipp ipps git svn dns jdbc jnlp jnlps magnet",
		// Programs of the system, some of which run what the URI says.
		"mailto tel sms smsto mmsto callto facetime facetime-audio sip sips skype im geo maps map",
		"market itms itmss macappstore macappstores webcal calshow",
		"prefs app-prefs shortcuts workflow applescript script help hcp shell search search-ms onenote onenote-cmd",
		"windowsdefender bingmaps bingweather calculator wifi wtai urn apt appstream snap man ghelp",
	].flatMap((schemes) => schemes.split(" ")),
);

/** How the schemes of browsers and systems begin that are too many to list. */
const RESERVED_STARTS = [
	"ms-",
	"microsoft-",
	"microsoft.",
	"x-",
	"chrome-",
	"moz-",
	"safari-",
	"firefox-",
	"itms-",
	"svn+",
	"git+",
	"web+",
	"ext+",
];

/** The shortest scheme. Shorter ones are drives on Windows. */
const MIN_SCHEME_CHARACTERS = 2;

/**
 * Whether a URI leads to a program that was installed for its scheme: a domain in reverse, or a name
 * before a path.
 */
function isOfProgram({ protocol, href }: URL) {
	const scheme = protocol.slice(0, -1);
	return (
		scheme.length >= MIN_SCHEME_CHARACTERS &&
		(scheme.includes(".") || href.startsWith(`${protocol}/`)) &&
		!RESERVED.has(scheme) &&
		!RESERVED_STARTS.some((start) => scheme.startsWith(start))
	);
}

/** White space and control characters, which parsers of URLs ignore. */
const IGNORED = /[\s\p{Cc}]/u;

/** Whether the person's browser may be sent to the URI: never, for example, to `javascript:`. */
export function isRedirectUri(text: string) {
	const url = URL.parse(text);
	if (!url || text.includes("#") || IGNORED.test(text) || url.username || url.password)
		return false;
	if (url.protocol === "https:") return true;
	return url.protocol === "http:" ? isLoopback(url) : isOfProgram(url);
}

/** The redirect URIs in an app's metadata, without those that it may not have. */
export const redirectUris = z
	.array(z.unknown())
	.transform((uris) =>
		uris.filter(
			(uri): uri is string =>
				typeof uri === "string" && uri.length <= MAX_URI_CHARACTERS && isRedirectUri(uri),
		),
	)
	.pipe(z.array(z.string()).min(1));

/**
 * Whether the URIs are the same. Only the port of a program on the person's computer may differ,
 * because the program doesn't know it before it starts (RFC 8252, section 7.3).
 */
export function isSameRedirect(registered: string, given: string) {
	if (registered === given) return true;
	const [a, b] = [URL.parse(registered), URL.parse(given)];
	if (!a || !b || !isRedirectUri(given) || !isLoopback(a)) return false;
	a.port = b.port;
	return a.protocol === "http:" && a.href === b.href;
}
