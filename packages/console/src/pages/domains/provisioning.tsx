import { useState } from "preact/hooks";
import type { Domain, ScimGroup, ScimRequest, ScimToken } from "tenantry-client";
import { type List, MAX_ROWS, useList, useLoad } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { SecondaryButton, SmallButton } from "../../ui/button.tsx";
import { confirm, Dialog } from "../../ui/dialog.tsx";
import { Empty, Show, say } from "../../ui/feedback.tsx";
import { FormDialog, Select, text } from "../../ui/form.tsx";
import { Section } from "../../ui/page.tsx";
import { buttons, type Column, Table } from "../../ui/table.tsx";
import { Badge, Count, levelName, Snippet, Time } from "../../ui/values.tsx";

type OfDomain = { domain: Domain };

function Connection({ domain }: OfDomain) {
	const { at } = useOrganization();
	const on = { ...at, domain: domain.id };
	const list = useList(
		(page, signal) => api.scimTokens.list({ ...on, ...page }, { signal }),
		[domain.id],
		{ parameter: "tokens" },
	);
	const [made, setMade] = useState<ScimToken>();
	async function create() {
		setMade(await api.scimTokens.create(on));
		list.reload();
	}
	async function revoke({ id, mask_value }: ScimToken) {
		const isSure = await confirm({
			title: `Revoke ${mask_value}?`,
			text: "The next request of your provider with this token is rejected.",
			action: "Revoke token",
		});
		if (!isSure) return;
		await api.scimTokens.delete({ ...on, token: id });
		setMade(undefined);
		say("The token is revoked.");
		list.reload();
	}
	const columns: Column<ScimToken>[] = [
		{ title: "Token", cell: ({ mask_value }) => <code>{mask_value}</code> },
		{ title: "Created", cell: ({ created_at }) => <Time value={created_at} /> },
		{
			title: "Last used",
			cell: ({ last_used_at }) => (last_used_at ? <Time value={last_used_at} /> : "Never"),
		},
		{
			title: "Ends",
			cell: ({ expires_at }) => (expires_at ? <Time value={expires_at} /> : "When replaced"),
		},
		buttons((token) => (
			<SmallButton onPress={() => revoke(token)}>
				Revoke<span class="unseen"> {token.mask_value}</span>
			</SmallButton>
		)),
	];
	const count = list.data?.count ?? 0;
	return (
		<Section
			title="Provisioning (SCIM)"
			actions={
				count < 2 && (
					<SecondaryButton onPress={create}>
						{count === 0 ? "Create token" : "Replace token"}
					</SecondaryButton>
				)
			}
		>
			<p>
				Your identity provider can add, change and remove members.{" "}
				<a href="/docs/sign-on#scim" target="_blank" rel="noopener">
					How to set it up
				</a>
			</p>
			<p>Base URL</p>
			<Snippet value={`${location.origin}/scim/v2/${domain.id}`} label="Copy base URL" />
			{made?.value && (
				<div class="secret">
					<p role="status">Copy the token now. It won’t be shown again.</p>
					<Snippet value={made.value} label="Copy token" />
				</div>
			)}
			<Table
				list={list}
				label="Tokens"
				columns={columns}
				empty={
					<Empty title="No tokens">
						Your provider needs the base URL and a token. Requests without one are rejected.
					</Empty>
				}
			/>
		</Section>
	);
}

const LEVELS = [
	["", "Don't change it"],
	["1", levelName(1)],
	["8", levelName(8)],
] as const;
const ACCESS = [
	["", "No access"],
	["1", "Member"],
	["8", "Admin"],
] as const;

const readLevel = (value: string): 1 | 8 | null => (value === "8" ? 8 : value === "1" ? 1 : null);

function Grants({
	domain,
	group,
	onClose,
	onSaved,
}: OfDomain & { group: ScimGroup; onClose: () => void; onSaved: () => void }) {
	const { at } = useOrganization();
	const projects = useLoad(
		async (signal) =>
			(await api.organizationProjects.list({ ...at, limit: MAX_ROWS }, { signal })).results,
		[],
	);
	const levels = new Map(group.projects.map(({ id, level }) => [id, level]));
	const listed = (projects.data ?? []).filter(
		({ id, access_control }) => access_control || levels.has(id),
	);
	return (
		<FormDialog
			title={`What ${group.display_name} grants`}
			action="Save"
			onClose={onClose}
			onSubmit={async (fields) => {
				const granted = listed.flatMap(({ id }) => {
					const level = readLevel(text(fields, `project-${id}`));
					return level === null ? [] : [{ id, level }];
				});
				await api.scimGroups.update(
					{ ...at, domain: domain.id, group: group.id },
					{ level: readLevel(text(fields, "level")), projects: granted },
				);
				say(`${group.display_name} is saved.`);
				onSaved();
			}}
		>
			<Select
				name="level"
				label="Level"
				hint="Members get it at once. Who has a higher level keeps it."
				options={LEVELS}
				defaultValue={String(group.level ?? "")}
			/>
			<Show of={projects}>
				{() => (
					<>
						{listed.length === 0 && <p class="quiet">There are no private projects.</p>}
						{listed.map(({ id, name }) => (
							<Select
								key={id}
								name={`project-${id}`}
								label={`Private project ${name}`}
								options={ACCESS}
								defaultValue={String(levels.get(id) ?? "")}
							/>
						))}
					</>
				)}
			</Show>
		</FormDialog>
	);
}

function Groups({ domain }: OfDomain) {
	const { at } = useOrganization();
	const list: List<ScimGroup> = useList(
		(page, signal) => api.scimGroups.list({ ...at, domain: domain.id, ...page }, { signal }),
		[domain.id],
		{ parameter: "groups" },
	);
	const [group, setGroup] = useState<ScimGroup>();
	const columns: Column<ScimGroup>[] = [
		{ title: "Group", cell: ({ display_name }) => display_name },
		{ title: "Members", align: "end", cell: ({ members }) => <Count value={members} /> },
		{
			title: "Level",
			cell: ({ level }) => (level === null ? "Doesn't change it" : levelName(level)),
		},
		{
			title: "Projects",
			align: "end",
			cell: ({ projects }) => <Count value={projects.length} />,
		},
		buttons((each) => (
			<SmallButton onPress={() => setGroup(each)}>
				Change<span class="unseen"> what {each.display_name} grants</span>
			</SmallButton>
		)),
	];
	return (
		<Section title="Groups of the provider">
			<Table
				list={list}
				label="Groups"
				columns={columns}
				empty={
					<Empty title="No groups">
						Groups that your provider sends appear here. You then choose what each grants.
					</Empty>
				}
			/>
			{group && (
				<Grants
					domain={domain}
					group={group}
					onClose={() => setGroup(undefined)}
					onSaved={() => {
						setGroup(undefined);
						list.reload();
					}}
				/>
			)}
		</Section>
	);
}

/** Returns JSON with line breaks; a text that was cut as it is. */
function indented(json: string) {
	try {
		return JSON.stringify(JSON.parse(json), null, 2);
	} catch {
		return json;
	}
}

const Message = ({ title, json }: { title: string; json: string | null }) =>
	json && (
		<>
			<h3>{title}</h3>
			<Snippet value={indented(json)} label={`Copy ${title.toLowerCase()}`} />
		</>
	);

const StatusBadge = ({ status }: { status: number }) => (
	<Badge mood={status < 400 ? "good" : "bad"}>{status}</Badge>
);

function Requests({ domain }: OfDomain) {
	const { at } = useOrganization();
	const list = useList(
		(page, signal) => api.scimRequests.list({ ...at, domain: domain.id, ...page }, { signal }),
		[domain.id],
		{ parameter: "requests", limit: 20 },
	);
	const [open, setOpen] = useState<ScimRequest>();
	const close = () => setOpen(undefined);
	const columns: Column<ScimRequest>[] = [
		{
			title: "Request",
			cell: (request) => (
				<button type="button" class="link" onClick={() => setOpen(request)}>
					{request.method} {request.path}
				</button>
			),
		},
		{ title: "Status", cell: StatusBadge },
		{ title: "Time", cell: ({ created_at }) => <Time value={created_at} /> },
	];
	return (
		<Section
			title="Last requests of the provider"
			actions={<SecondaryButton onPress={list.reload}>Load again</SecondaryButton>}
			isReading
		>
			<Table
				list={list}
				label="Requests"
				columns={columns}
				empty={
					<Empty title="No requests">The last 200 requests of your provider appear here.</Empty>
				}
			/>
			{open && (
				<Dialog title={`${open.method} ${open.path}`} onClose={close}>
					<p>
						<StatusBadge status={open.status} /> <Time value={open.created_at} />
					</p>
					{open.ignored.length > 0 && (
						<>
							<h3>Not carried out</h3>
							<ul>
								{open.ignored.map((text) => (
									<li key={text}>{text}</li>
								))}
							</ul>
						</>
					)}
					<Message title="Request" json={open.request} />
					<Message title="Response" json={open.response} />
					<div class="buttons">
						<SecondaryButton onPress={close}>Close</SecondaryButton>
					</div>
				</Dialog>
			)}
		</Section>
	);
}

/** The settings that connect a provider through SCIM (docs/sign-on.md#scim). */
export const Provisioning = ({ domain }: OfDomain) => (
	<>
		<Connection domain={domain} />
		<Groups domain={domain} />
		<Requests domain={domain} />
	</>
);
