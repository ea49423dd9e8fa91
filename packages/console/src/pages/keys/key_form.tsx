import { useState } from "preact/hooks";
import type { PersonalApiKey } from "tenantry-client";
import { Area, assertChosen, Field, Form, text, texts } from "../../ui/form.tsx";
import { linesOf } from "../../ui/lines.ts";
import type { Scope } from "../../ui/scopes.ts";
import { Expiry, expiryIn } from "./expiry.tsx";
import type { KeySettings, Keys } from "./keys.ts";
import { type Kind, kindOf, Reach } from "./reach.tsx";
import { explain } from "./rejections.ts";
import { ScopePicker } from "./scope_picker.tsx";

/** The default scopes of a new key. */
const FIRST: readonly Scope[] = ["project:read"];

function restrictionsIn(fields: FormData, kind: Kind, before: PersonalApiKey | undefined) {
	const organizations = texts(fields, "organization");
	const projects = texts(fields, "project").map(Number);
	if (kind === "none") return { scoped_organizations: [], scoped_projects: [] };
	if (kind === "organizations") {
		assertChosen("scoped_organizations", organizations);
		return { scoped_organizations: organizations, scoped_projects: [] };
	}
	assertChosen("scoped_projects", projects);
	return {
		scoped_organizations: before?.scoped_organizations ?? [],
		scoped_projects: projects,
	};
}

function Addresses({ defaultValue, seen }: { defaultValue: string[]; seen: readonly string[] }) {
	const [value, setValue] = useState(defaultValue.join("\n"));
	const unlisted = seen.filter((address) => !linesOf(value, /[\n,]/).includes(address));
	return (
		<>
			<Area
				name="allowed_ips"
				label="Allowed IP addresses"
				rows={3}
				spellcheck={false}
				placeholder="203.0.113.0/24"
				value={value}
				onInput={({ currentTarget }) => setValue(currentTarget.value)}
				hint="One IP address or range per line. If empty, the key works from anywhere."
			/>
			{unlisted.length > 0 && (
				<p class="key-seen">
					Recently used from {unlisted.join(", ")}.{" "}
					<button
						type="button"
						class="link"
						onClick={() => setValue([...linesOf(value, /[\n,]/), ...unlisted].join("\n"))}
					>
						Add {unlisted.length === 1 ? "this address" : "these addresses"}
					</button>
				</p>
			)}
		</>
	);
}

type Props = {
	keys: Pick<Keys<PersonalApiKey>, "projects" | "organizations" | "organization">;
	before?: PersonalApiKey;
	/** The key of this session. */
	current: PersonalApiKey | undefined;
	/** The IP addresses that the key was used from. */
	seen?: readonly string[];
	/** Whether the form starts with these as allowed IP addresses. */
	isLimited?: boolean;
	action: string;
	onSubmit: (settings: KeySettings) => Promise<unknown>;
	onCancel: () => void;
};

/** Returns `onSubmit` with errors that say which field exceeds the key of this session. */
const explained =
	(onSubmit: Props["onSubmit"], { organization }: Props["keys"], current: Props["current"]) =>
	async (settings: KeySettings) => {
		try {
			return await onSubmit(settings);
		} catch (error) {
			// Keys of service accounts are always restricted to their organization.
			const sent = organization ? { ...settings, scoped_organizations: [organization] } : settings;
			throw explain(error, sent, current);
		}
	};

export function KeyForm({
	keys,
	before,
	current,
	seen = [],
	isLimited = false,
	action,
	onSubmit,
	onCancel,
}: Props) {
	const [scopes, setScopes] = useState<readonly Scope[]>(before?.scopes ?? FIRST);
	const [kind, setKind] = useState<Kind>(kindOf(before));

	const submit = (fields: FormData) =>
		explained(
			onSubmit,
			keys,
			current,
		)({
			label: text(fields, "label"),
			scopes: [...scopes],
			...restrictionsIn(fields, kind, before),
			allowed_ips: linesOf(text(fields, "allowed_ips"), /[\n,]/),
			expires_at: expiryIn(fields, before, current),
		});
	const addresses = before?.allowed_ips ?? [];
	return (
		<div class="key-form">
			<Form action={action} onSubmit={submit} onCancel={onCancel}>
				<div class="key-columns">
					<div>
						<Field
							name="label"
							label="Name"
							required
							maxLength={40}
							defaultValue={before?.label}
							placeholder="Nightly import"
							hint="What the key is for. It is visible in the activity log."
						/>
						<ScopePicker scopes={scopes} onChange={setScopes} />
					</div>
					<div>
						<Reach keys={keys} before={before} kind={kind} onChange={setKind} />
						<Addresses
							defaultValue={isLimited ? [...new Set([...addresses, ...seen])] : addresses}
							seen={seen}
						/>
						<Expiry before={before} current={current} />
					</div>
				</div>
			</Form>
		</div>
	);
}
