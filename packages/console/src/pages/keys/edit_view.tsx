import type { PersonalApiKey, UpdatePersonalApiKeyBody } from "tenantry-client";
import { useLoad, useNavigate, useQuery } from "../../load.ts";
import { useSave } from "../../ui/conflict.tsx";
import { say } from "../../ui/feedback.tsx";
import { LoadedPage, PageView } from "../../ui/page.tsx";
import { KeyForm } from "./key_form.tsx";
import { getCurrentKey, type KeySettings, type Keys, updateUnlessChanged } from "./keys.ts";
import { addressesOf } from "./usage.tsx";

const LABELS = {
	label: "Name",
	scopes: "Scopes",
	scoped_organizations: "Organizations",
	scoped_projects: "Projects",
	allowed_ips: "Allowed IP addresses",
	expires_at: "Expires",
};

const NAMES = [
	"label",
	"scopes",
	"scoped_organizations",
	"scoped_projects",
	"allowed_ips",
	"expires_at",
] as const;

/** Returns only the changed fields, so that saving doesn't overwrite others. */
function changesOf(key: PersonalApiKey, settings: KeySettings, isOwn: boolean) {
	const changed = NAMES.filter(
		(name) =>
			(isOwn || name !== "scoped_organizations") &&
			JSON.stringify(settings[name]) !== JSON.stringify(key[name]),
	);
	const changes: UpdatePersonalApiKeyBody = Object.fromEntries(
		changed.map((name) => [name, settings[name]]),
	);
	return changes;
}

export function EditKey<K extends PersonalApiKey>({ keys, id }: { keys: Keys<K>; id: string }) {
	const navigate = useNavigate();
	const [{ limit }] = useQuery();
	const loaded = useLoad(
		async (signal) => {
			const [key, current, usage] = await Promise.all([
				keys.get(id, { signal }),
				getCurrentKey({ signal }),
				keys.usage(id, { signal }),
			]);
			return { key, current, seen: addressesOf(usage.results) };
		},
		[keys.to(id)],
	);
	const page = keys.to(id);
	const { save, dialog } = useSave<K, UpdatePersonalApiKeyBody>({
		read: () => keys.get(id),
		update: (key, changes) => updateUnlessChanged(keys, key, changes),
		onSaved: ({ label }) => {
			navigate(page);
			say(`“${label}” is saved.`);
		},
		labels: LABELS,
	});
	return (
		<LoadedPage of={loaded} title="Key" above={keys.above}>
			{({ key, current, seen }) => (
				<PageView title={`Edit “${key.label}”`} above={[...keys.above, [page, key.label]]}>
					<KeyForm
						keys={keys}
						before={key}
						current={current}
						seen={seen}
						isLimited={limit === "seen"}
						action="Save"
						onSubmit={(settings) =>
							save(key, changesOf(key, settings, keys.organization === undefined))
						}
						onCancel={() => navigate(page)}
					/>
					{dialog}
				</PageView>
			)}
		</LoadedPage>
	);
}
