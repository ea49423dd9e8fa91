/** The issuers that a service account trusts: programs with their tokens need no stored key. */
import type {
	PersonalApiKey,
	ServiceAccount,
	TrustedIssuer,
	UpdateTrustedIssuerBody,
} from "tenantry-client";
import { type Loaded, useList, useLoad, useNavigate } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { useSave } from "../../ui/conflict.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { Empty, say } from "../../ui/feedback.tsx";
import { LoadedPage, PageView, Section } from "../../ui/page.tsx";
import { summaryOf } from "../../ui/scopes.ts";
import { type Column, Table } from "../../ui/table.tsx";
import { Facts, Snippet, Time } from "../../ui/values.tsx";
import { IssuerForm, type IssuerSettings } from "./issuer_form.tsx";
import type { Keys } from "./keys.ts";

type Of = {
	account: Pick<ServiceAccount, "id" | "name">;
	/** The keys of the account. */
	keys: Keys<PersonalApiKey>;
};

/** Returns the parameters of the account's issuers, and the paths of their pages. */
function useIssuers({ account }: Pick<Of, "account">) {
	const { at, to } = useOrganization();
	const page = to(`service_accounts/${account.id}`);
	return {
		within: { ...at, account: account.id },
		page,
		to: (path: string) => `${page}/issuers/${path}`,
	};
}

const columnsOf = (to: (path: string) => string): Column<TrustedIssuer>[] => [
	{
		title: "Name",
		cell: ({ id, name, issuer }) => (
			<>
				<a href={to(id)}>
					<strong>{name}</strong>
				</a>
				<small class="below">{issuer}</small>
			</>
		),
	},
	{ title: "Subject", cell: ({ subject }) => <code class="key-value">{subject}</code> },
	{ title: "Permissions", cell: ({ scopes }) => summaryOf(scopes) },
	{
		title: "Last used",
		cell: ({ last_used_at }) => (last_used_at ? <Time value={last_used_at} isRelative /> : "Never"),
	},
];

export function IssuerSection({ account }: Pick<Of, "account">) {
	const { within, to } = useIssuers({ account });
	const list = useList(
		(page, signal) => api.trustedIssuers.list({ ...within, ...page }, { signal }),
		[account.id],
		{ parameter: "issuers_offset" },
	);
	return (
		<Section
			title="Trusted issuers"
			actions={
				<a class="button secondary" href={to("new")}>
					Trust an issuer
				</a>
			}
		>
			<Table
				list={list}
				label="Trusted issuers"
				columns={columnsOf(to)}
				empty={
					<Empty title="No trusted issuers yet">
						Jobs of GitHub Actions, GitLab CI and others can get a key for 15 minutes, so that you
						don't have to store one.
					</Empty>
				}
			/>
		</Section>
	);
}

export function NewIssuer({ account, keys }: Of) {
	const { within, page, to } = useIssuers({ account });
	const navigate = useNavigate();
	return (
		<PageView title="Trust an issuer" above={keys.above}>
			<IssuerForm
				keys={keys}
				action="Trust issuer"
				onSubmit={async (settings) => {
					const { id, name } = await api.trustedIssuers.create(within, settings);
					navigate(to(id));
					say(`“${name}” is trusted.`);
				}}
				onCancel={() => navigate(page)}
			/>
		</PageView>
	);
}

const LABELS = {
	name: "Name",
	issuer: "Issuer",
	subject: "Subject",
	claims: "Other claims",
	audience: "Audience",
	scopes: "Permissions",
	scoped_projects: "Projects",
};

/** Returns only the changed fields, because others would end the keys. */
function changesOf(before: TrustedIssuer, settings: IssuerSettings): UpdateTrustedIssuerBody {
	const stored = new Map<string, unknown>(Object.entries(before));
	return Object.fromEntries(
		Object.entries(settings).filter(
			([name, value]) => JSON.stringify(value) !== JSON.stringify(stored.get(name)),
		),
	);
}

function Delete({
	account,
	issuer: { id, name },
}: Pick<Of, "account"> & { issuer: TrustedIssuer }) {
	const { within, page } = useIssuers({ account });
	const navigate = useNavigate();
	async function remove() {
		const isSure = await confirm({
			title: `Stop trusting “${name}”?`,
			text: "Its jobs get no more keys, and the keys that they have stop working immediately.",
			action: "Stop trusting",
		});
		if (!isSure) return;
		await api.trustedIssuers.delete({ ...within, id });
		navigate(page);
		say(`“${name}” is no longer trusted.`);
	}
	return (
		<Button class="danger" onPress={remove}>
			Stop trusting
		</Button>
	);
}

function Settings({
	account,
	keys,
	loaded,
	issuer,
}: Of & { loaded: Loaded<TrustedIssuer>; issuer: TrustedIssuer }) {
	const { within, page } = useIssuers({ account });
	const navigate = useNavigate();
	const { save, dialog, version } = useSave<TrustedIssuer, UpdateTrustedIssuerBody>({
		read: () => api.trustedIssuers.get({ ...within, id: issuer.id }),
		update: (before, changes) => api.trustedIssuers.update({ ...within, ...before }, changes),
		onSaved: async ({ name }) => {
			await loaded.reload();
			say(`“${name}” is saved.`);
		},
		labels: LABELS,
	});
	return (
		<Section title="Settings">
			<IssuerForm
				key={version}
				keys={keys}
				before={issuer}
				action="Save"
				onSubmit={(settings) => save(issuer, changesOf(issuer, settings))}
				onCancel={() => navigate(page)}
			/>
			{dialog}
		</Section>
	);
}

export function Issuer({ account, keys, id }: Of & { id: string }) {
	const { within } = useIssuers({ account });
	const loaded = useLoad(
		(signal) => api.trustedIssuers.get({ ...within, id }, { signal }),
		[account.id, id],
	);
	return (
		<LoadedPage of={loaded} title="Trusted issuer" above={keys.above}>
			{(issuer) => (
				<PageView
					title={issuer.name}
					above={keys.above}
					actions={<Delete account={account} issuer={issuer} />}
				>
					<div class="panel">
						<Facts
							rows={[
								["Client ID", <Snippet key="id" value={issuer.id} />],
								["Last used", issuer.last_used_at ? <Time value={issuer.last_used_at} /> : "Never"],
								["Created", <Time key="created" value={issuer.created_at} />],
							]}
						/>
						<p class="hint">
							A job sends the client ID and its token to <code>/oauth/token</code>.{" "}
							<a href="/docs/oauth#jobs-without-keys" target="_blank" rel="noopener">
								Examples for GitHub Actions and GitLab CI
							</a>
						</p>
					</div>
					<Settings account={account} keys={keys} loaded={loaded} issuer={issuer} />
				</PageView>
			)}
		</LoadedPage>
	);
}
