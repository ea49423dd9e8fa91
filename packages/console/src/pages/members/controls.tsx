/** Access controls: a list, and the dialog that gives access (docs/access.md). */
import { useState } from "preact/hooks";
import type { AccessControl } from "tenantry-client";
import { MAX_ROWS, useList, useLoad } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import {
	isResource,
	LEVELS,
	levelWords,
	RESOURCE_NAMES,
	RESOURCES,
	type Resource,
} from "../../ui/access_words.ts";
import { SecondaryButton, SmallButton } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { say } from "../../ui/feedback.tsx";
import { Choice, FormDialog, Group, rejection, Select, text } from "../../ui/form.tsx";
import { Section } from "../../ui/page.tsx";
import { buttons, type Column, Table } from "../../ui/table.tsx";
import { Badge, nameOf } from "../../ui/values.tsx";
import { MemberField, memberWith } from "../projects/members.tsx";

/** What the access controls of a list have in common: the holder, or what they are about. */
export type About = {
	role?: { id: string; name: string };
	member?: { uuid: string; name: string };
	resource?: Resource;
	/** The id of one object; undefined for all. */
	object?: string | undefined;
};

/** An object to which access can be given. */
type Named = { id: string | number; name: string };

/** Returns a function that loads the objects of a resource to which access can be given. */
function useObjects() {
	const { at, organization } = useOrganization();
	return async (resource: Resource, signal: AbortSignal): Promise<readonly Named[]> => {
		const page = { ...at, limit: MAX_ROWS };
		switch (resource) {
			case "project":
				return organization.teams;
			case "batch_export":
				return (await api.batchExports.list(page, { signal })).results;
			case "plugin":
				return (await api.plugins.list(page, { signal })).results;
			case "webhook":
				return (await api.webhooks.list(page, { signal })).results.map(
					({ id, description, url }) => ({ id, name: description || new URL(url).host }),
				);
			case "domain":
				return (await api.domains.list(page, { signal })).results.map(({ id, domain }) => ({
					id,
					name: domain,
				}));
			default:
				return [];
		}
	};
}

/** The choice of one object of a resource, or of all. */
function ObjectField({ resource }: { resource: Resource }) {
	const { organization } = useOrganization();
	const load = useObjects();
	const found = useLoad((signal) => load(resource, signal), [organization.id, resource]);
	if (RESOURCES[resource].path === undefined) return null;
	const words = RESOURCES[resource].words.toLowerCase();
	return (
		<Select
			name="resource_id"
			label="Which"
			options={[
				["", `All ${words}`],
				...(found.data ?? []).map(({ id, name }) => [String(id), name] as const),
			]}
		/>
	);
}

/** The choice of who gets the access. */
function Holders({ onChange, holder }: { holder: string; onChange: (holder: string) => void }) {
	const { at, organization } = useOrganization();
	const roles = useLoad((signal) => api.roles.list(at, { signal }), [organization.id]);
	const own = (roles.data?.results ?? []).filter(({ is_built_in }) => !is_built_in);
	return (
		<>
			<Select
				name="holder"
				label="Who"
				value={holder}
				onChange={({ currentTarget }) => onChange(currentTarget.value)}
				options={[
					["everyone", "Everyone"],
					["member", "One member"],
					...own.map(({ id, name }) => [id, `Role: ${name}`] as const),
				]}
			/>
			{holder === "member" && <MemberField />}
		</>
	);
}

function GiveAccess({
	about,
	onClose,
	onGiven,
}: {
	about: About;
	onClose: () => void;
	onGiven: () => void;
}) {
	const { at } = useOrganization();
	const [resource, setResource] = useState<Resource>(about.resource ?? "batch_export");
	const [holder, setHolder] = useState("everyone");
	const isOpen = !about.role && !about.member;
	async function give(fields: FormData) {
		const level = LEVELS.find(([name]) => name === text(fields, "access_level"));
		if (!level) throw rejection("access_level", "Choose a level.");
		const chosen =
			isOpen && holder === "member"
				? (await memberWith(at, text(fields, "user_uuid"))).user.uuid
				: null;
		const role = isOpen && holder !== "member" && holder !== "everyone" ? holder : null;
		await api.accessControls.create(at, {
			resource,
			resource_id: about.object ?? (text(fields, "resource_id") || null),
			role: about.role?.id ?? role,
			member: about.member?.uuid ?? chosen,
			access_level: level[0],
		});
		say("The access is given.");
		onGiven();
	}
	return (
		<FormDialog
			title={`Give access${about.role ? ` to the role ${about.role.name}` : about.member ? ` to ${about.member.name}` : ""}`}
			action="Give access"
			onClose={onClose}
			onSubmit={give}
		>
			{isOpen && <Holders holder={holder} onChange={setHolder} />}
			{about.resource === undefined && (
				<Select
					name="resource"
					label="To"
					value={resource}
					onChange={({ currentTarget: { value } }) => isResource(value) && setResource(value)}
					options={RESOURCE_NAMES.map((name) => [name, RESOURCES[name].words])}
				/>
			)}
			{about.object === undefined && <ObjectField key={resource} resource={resource} />}
			<Group label="Access" name="access_level">
				{LEVELS.map(([level, words, allows]) => (
					<Choice
						key={level}
						name="access_level"
						value={level}
						label={words}
						hint={allows}
						defaultChecked={level === "viewer"}
					/>
				))}
			</Group>
		</FormDialog>
	);
}

/** The holder of an access control. */
function Holder({ control: { role, member } }: { control: AccessControl }) {
	const { to } = useOrganization();
	if (role) return <a href={to(`members/roles/${role.id}`)}>Role {role.name}</a>;
	if (!member) return <>Everyone</>;
	const isAccount = member.email.endsWith(".invalid");
	return (
		<a href={to(`${isAccount ? "service_accounts" : "members"}/${member.uuid}`)}>
			{nameOf(member)}
		</a>
	);
}

/** What an access control is about. */
function Subject({ control: { resource, resource_id } }: { control: AccessControl }) {
	const { organization, to } = useOrganization();
	const { words, one, path } = RESOURCES[resource];
	if (resource_id === null) return <>All {words.toLowerCase()}</>;
	const project =
		resource === "project" && organization.teams.find(({ id }) => String(id) === resource_id);
	const name = project ? project.name : `One ${one}`;
	return path ? <a href={to(`${path}/${resource_id}`)}>{name}</a> : <span>{name}</span>;
}

/** The access that was given: to a role, to a member, or to an object. */
export function Controls({ about, lead }: { about: About; lead: string }) {
	const { at, isAdmin, organization } = useOrganization();
	const [isGiving, setGiving] = useState(false);
	const filters = {
		...(about.role && { role: about.role.id }),
		...(about.member && { member: about.member.uuid }),
		...(about.resource && { resource: about.resource }),
		...(about.object && { resource_id: about.object }),
	};
	const list = useList(
		(page, signal) => api.accessControls.list({ ...at, ...page, ...filters }, { signal }),
		[organization.id, JSON.stringify(filters)],
		{ parameter: "given_offset" },
	);
	async function remove(control: AccessControl) {
		const isSure = await confirm({
			title: "Take this access away?",
			text: "What else is said about the access then applies, from the next request on.",
			action: "Take away",
		});
		if (!isSure) return;
		await api.accessControls.delete({ ...at, id: control.id });
		say("The access is taken away.");
		list.reload();
	}
	const columns: Column<AccessControl>[] = [
		...(about.role || about.member
			? []
			: [{ title: "Who", cell: (control: AccessControl) => <Holder control={control} /> }]),
		...(about.object
			? []
			: [{ title: "To", cell: (control: AccessControl) => <Subject control={control} /> }]),
		{ title: "Access", cell: ({ access_level }) => <Badge>{levelWords(access_level)}</Badge> },
		...(isAdmin
			? [
					buttons<AccessControl>((control) => (
						<SmallButton onPress={() => remove(control)}>Take away</SmallButton>
					)),
				]
			: []),
	];
	return (
		<Section
			title="Access given"
			actions={
				isAdmin && <SecondaryButton onPress={() => setGiving(true)}>Give access</SecondaryButton>
			}
		>
			<p class="quiet">{lead}</p>
			<Table
				list={list}
				label="Access given"
				columns={columns}
				empty={<p class="quiet">None.</p>}
			/>
			{isGiving && (
				<GiveAccess
					about={about}
					onClose={() => setGiving(false)}
					onGiven={() => {
						setGiving(false);
						list.reload();
					}}
				/>
			)}
		</Section>
	);
}
