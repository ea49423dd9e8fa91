/** Returns the host names in `allowed_hosts` (a list, or with commas) that have a dot. */
export function allowedHosts({ allowed_hosts }: Record<string, unknown>) {
	const names = typeof allowed_hosts === "string" ? allowed_hosts.split(",") : allowed_hosts;
	if (!Array.isArray(names)) return [];
	return names
		.map((name) => String(name).trim().toLowerCase())
		.filter((name) => /^([a-z0-9-]+\.)+[a-z][a-z0-9-]*[a-z0-9]$/.test(name));
}
