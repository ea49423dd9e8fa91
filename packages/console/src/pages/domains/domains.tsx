import { useState } from "preact/hooks";
import type { Domain } from "tenantry-client";
import { useNavigate, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Empty } from "../../ui/feedback.tsx";
import { Filters, Search } from "../../ui/filters.tsx";
import { Field, FormDialog, text } from "../../ui/form.tsx";
import { PageView } from "../../ui/page.tsx";
import { useSorted } from "../../ui/sorted.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/values.tsx";
import { enforcementName } from "./enforcement.ts";
import { VerifiedBadge } from "./verification.tsx";

const columnsOf = (to: (path: string) => string): Column<Domain>[] => [
	{
		title: "Domain",
		value: ({ domain }) => domain,
		cell: ({ id, domain }) => <a href={to(`domains/${id}`)}>{domain}</a>,
	},
	{
		title: "State",
		value: ({ is_verified }) => (is_verified ? "Verified" : "Not verified"),
		cell: ({ is_verified }) => <VerifiedBadge isVerified={is_verified} />,
	},
	{
		title: "Verified",
		value: ({ verified_at }) => verified_at,
		cell: ({ verified_at }) => <Time value={verified_at} />,
	},
	{
		title: "Sign-in",
		value: (domain) => enforcementName(domain.sso_enforcement),
		cell: ({ sso_enforcement }) => enforcementName(sso_enforcement),
	},
	{
		title: "New people join",
		cell: ({ jit_provisioning_enabled }) =>
			jit_provisioning_enabled ? "When they first sign in" : "By invite",
	},
];

function AddDomain({ onClose }: { onClose: () => void }) {
	const { at, to } = useOrganization();
	const navigate = useNavigate();
	return (
		<FormDialog
			title="Add domain"
			action="Add domain"
			onClose={onClose}
			onSubmit={async (fields) => {
				const { id } = await api.domains.create(at, {
					// Users may enter an email address.
					domain: text(fields, "domain").replace(/^.*@/, ""),
				});
				navigate(to(`domains/${id}`));
			}}
		>
			<Field
				name="domain"
				label="Domain"
				placeholder="example.com"
				required
				spellcheck={false}
				hint="The part of your email addresses after the @."
			/>
		</FormDialog>
	);
}

/** The domains of an organization (docs/organizations.md#domains). */
export default function Domains() {
	const { at, isAdmin, to } = useOrganization();
	const [isAdding, setAdding] = useState(false);
	const [{ search }] = useQuery();
	const columns = columnsOf(to);
	const list = useSorted(
		(range, options) => api.domains.list({ ...at, ...range, search }, options),
		[at.organization, search],
		{ columns, name: "domains" },
	);
	const add = (
		<button type="button" onClick={() => setAdding(true)}>
			Add domain
		</button>
	);
	return (
		<PageView
			title="Domains"
			lead="Verify your email domains, and decide how people with addresses of these domains sign in."
			actions={isAdmin && add}
		>
			<Filters>
				<Search label="Search domains" />
			</Filters>
			<Table
				list={list}
				label="Domains"
				columns={columns}
				notFound={search && `No domain contains “${search}”.`}
				empty={
					<Empty title="No domains">
						{isAdmin
							? "Add the domain of your email addresses, then verify it with a TXT record."
							: "Admins of the organization can add domains."}
					</Empty>
				}
			/>
			{isAdding && <AddDomain onClose={() => setAdding(false)} />}
		</PageView>
	);
}
