/** The part of the header `User-Agent`, and its name. Browsers also name those that they imitate. */
const BROWSERS = [
	["Edg", "Edge"],
	["OPR/", "Opera"],
	["Firefox/", "Firefox"],
	["FxiOS/", "Firefox"],
	["Chrome/", "Chrome"],
	["CriOS/", "Chrome"],
	["Version/", "Safari"],
] as const;

const SYSTEMS = [
	["Windows", "Windows"],
	["iPhone", "iPhone"],
	["iPad", "iPad"],
	["Mac OS X", "macOS"],
	["Android", "Android"],
	["CrOS", "ChromeOS"],
	["Linux", "Linux"],
] as const;

/** Returns `Firefox 140, Linux` for a browser, and the start of the header for others. */
export function clientOf(header: string) {
	if (!header.startsWith("Mozilla/")) return header;
	const [browser, system] = [BROWSERS, SYSTEMS].map((names) =>
		names.find(([part]) => header.includes(part)),
	);
	if (!browser || !system) return header.slice("Mozilla/5.0 ".length);
	const slash = header.indexOf("/", header.indexOf(browser[0]));
	const version = Number.parseInt(header.slice(slash + 1), 10);
	return `${browser[1]} ${version || "?"}, ${system[1]}`;
}
