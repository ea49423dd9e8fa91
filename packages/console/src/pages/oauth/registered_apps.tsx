/** The apps that an organization has registered for its members (docs/oauth.md#registered-apps). */
import { useState } from "preact/hooks";
import type { OauthClient, UpdateOauthClientBody } from "tenantry-client";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { PlainButton, SecondaryButton } from "../../ui/button.tsx";
import { useSave } from "../../ui/conflict.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { Empty, say } from "../../ui/feedback.tsx";
import { Area, Field, FormDialog, text } from "../../ui/form.tsx";
import { linesOf } from "../../ui/lines.ts";
import { Section } from "../../ui/page.tsx";
import { RowMenu } from "../../ui/row_menu.tsx";
import { useSorted } from "../../ui/sorted.tsx";
import { buttons, type Column, Table } from "../../ui/table.tsx";
import { Copy, Time } from "../../ui/values.tsx";

const LABELS = { name: "Name", redirect_uris: "Redirect URIs" };

type Actions = { onChange: (app: OauthClient) => unknown; onDelete: (app: OauthClient) => unknown };

const columnsOf = ({ onChange, onDelete }: Actions): Column<OauthClient>[] => [
	{
		title: "App",
		value: ({ name }) => name,
		cell: ({ id, name }) => (
			<>
				<strong>{name}</strong>
				<small class="below">
					<code>{id}</code> <Copy value={id} what={`the client ID of ${name}`} />
				</small>
			</>
		),
	},
	{
		title: "Redirect URIs",
		value: ({ redirect_uris }) => redirect_uris.join(" "),
		cell: ({ redirect_uris }) => redirect_uris.map((uri) => <div key={uri}>{uri}</div>),
	},
	{
		title: "Registered",
		value: ({ created_at }) => created_at,
		cell: ({ created_at }) => <Time value={created_at} isRelative />,
	},
	buttons((app) => (
		<RowMenu of={app.name}>
			<PlainButton aria-label={`Change ${app.name}`} onPress={() => onChange(app)}>
				Change
			</PlainButton>
			<PlainButton aria-label={`Delete ${app.name}`} onPress={() => onDelete(app)}>
				Delete
			</PlainButton>
		</RowMenu>
	)),
];

const Fields = ({ app }: { app?: OauthClient }) => (
	<>
		<Field
			name="name"
			label={LABELS.name}
			required
			maxLength={40}
			defaultValue={app?.name ?? ""}
			hint="Members see it when the app asks for access."
		/>
		<Area
			name="redirect_uris"
			label={LABELS.redirect_uris}
			required
			spellcheck={false}
			defaultValue={app?.redirect_uris.join("\n") ?? ""}
			hint="One per line, such as https://notes.example/callback. The app can only continue at these."
		/>
	</>
);

const valuesIn = (fields: FormData) => ({
	name: text(fields, "name"),
	redirect_uris: linesOf(text(fields, "redirect_uris")),
});

function Register({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
	const { at } = useOrganization();
	return (
		<FormDialog
			title="Register an app"
			action="Register app"
			onClose={onClose}
			onSubmit={async (fields) => {
				const { name } = await api.oauthClients.create(at, valuesIn(fields));
				say(`“${name}” is registered. Its client ID is in the list.`);
				onDone();
			}}
		>
			<p>Only members of this organization can allow it. It gets no secret.</p>
			<Fields />
		</FormDialog>
	);
}

function Change({
	app,
	onClose,
	onDone,
}: {
	app: OauthClient;
	onClose: () => void;
	onDone: () => void;
}) {
	const { at } = useOrganization();
	const { save, dialog, version } = useSave<OauthClient, UpdateOauthClientBody>({
		read: () => api.oauthClients.get({ ...at, id: app.id }),
		update: (before, changes) => api.oauthClients.update({ ...at, ...before }, changes),
		onSaved: onDone,
		labels: LABELS,
	});
	return (
		<>
			<FormDialog
				key={version}
				title={`Change ${app.name}`}
				action="Save"
				onClose={onClose}
				onSubmit={(fields) => save(app, valuesIn(fields), "The app is saved.")}
			>
				<Fields app={app} />
			</FormDialog>
			{dialog}
		</>
	);
}

export function RegisteredApps() {
	const { at, organization } = useOrganization();
	const [isNew, setNew] = useState(false);
	const [changing, setChanging] = useState<OauthClient>();
	const columns = columnsOf({
		// The list has no ETag.
		onChange: async ({ id }) => setChanging(await api.oauthClients.get({ ...at, id })),
		onDelete: remove,
	});
	const list = useSorted(
		(range, options) => api.oauthClients.list({ ...at, ...range }, options),
		[organization.id],
		{ columns, name: "registered-apps", parameter: "apps_offset" },
	);
	async function remove({ id, name }: OauthClient) {
		const isSure = await confirm({
			title: `Delete ${name}?`,
			text: "All access that members have given it ends immediately. This can't be undone.",
			action: "Delete app",
		});
		if (!isSure) return;
		await api.oauthClients.delete({ ...at, id });
		say(`“${name}” is deleted.`);
		list.reload();
	}
	const done = () => {
		setNew(false);
		setChanging(undefined);
		list.reload();
	};
	return (
		<Section
			title="Registered apps"
			actions={<SecondaryButton onPress={() => setNew(true)}>Register app</SecondaryButton>}
		>
			<Table
				list={list}
				label="Registered apps"
				columns={columns}
				empty={
					<Empty title="No registered apps">
						Most apps publish a document about themselves. Register the others, such as those of
						your own.
					</Empty>
				}
			/>
			{isNew && <Register onClose={() => setNew(false)} onDone={done} />}
			{changing && <Change app={changing} onClose={() => setChanging(undefined)} onDone={done} />}
		</Section>
	);
}
