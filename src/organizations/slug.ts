/** At most 48 lower-case letters, digits, underscores and hyphens of what `name` leaves when its accents are taken off. */
const slugify = (name: string) =>
	name
		.normalize("NFKD")
		.toLowerCase()
		.replace(/[^a-z0-9_\s-]/g, "")
		.replace(/[\s-]+/g, "-")
		.slice(0, 48)
		.replace(/^[-_]+|[-_]+$/g, "");

const suffix = () =>
	Array.from(crypto.getRandomValues(new Uint8Array(4)), (n) =>
		String.fromCharCode(97 + (n % 26)),
	).join("");

/** What an organization of this name may be called in addresses, best first; the database takes the first free one. */
export function candidates(name: string): string[] {
	const slug = slugify(name);
	const stem = slug.slice(0, 43) || "organization";
	const others = Array.from({ length: 16 }, () => `${stem}-${suffix()}`);
	return slug ? [slug, ...others] : others;
}
