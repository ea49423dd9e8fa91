/** Returns at most 48 characters of a-z, 0-9, underscores and hyphens; perhaps none. */
const slugify = (name: string) =>
	name
		.normalize("NFKD")
		.toLowerCase()
		.replace(/[^a-z0-9_\s-]/g, "")
		.replace(/[\s-]+/g, "-")
		.slice(0, 48)
		.replace(/^[-_]+|(?<![-_])[-_]+$/g, "");

const suffix = () =>
	Array.from(crypto.getRandomValues(new Uint8Array(4)), (n) =>
		String.fromCharCode(97 + (n % 26)),
	).join("");

/** Returns possible slugs for an organization, of which the insert uses the first that is free. */
export function candidates(name: string): string[] {
	const slug = slugify(name);
	const stem = slug.slice(0, 43) || "organization";
	const others = Array.from({ length: 16 }, () => `${stem}-${suffix()}`);
	return slug ? [slug, ...others] : others;
}
