/** The pages of an issuer that a service account trusts. */
import type { TrustedIssuer, UpdateTrustedIssuerBody } from "tenantry-client";
import { type Loaded, useLoad, useNavigate } from "../../load.ts";
import { api } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { useSave } from "../../ui/conflict.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { say } from "../../ui/feedback.tsx";
import { LoadedPage, PageView, Section } from "../../ui/page.tsx";
import { Facts, Snippet, Time } from "../../ui/values.tsx";
import { IssuerForm, type IssuerSettings } from "./issuer_form.tsx";
import { type Of, type OfAccount, useIssuers } from "./issuer_list.tsx";

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

function Delete({ account, issuer: { id, name } }: OfAccount & { issuer: TrustedIssuer }) {
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

export default function Issuer({ account, keys, id }: Of & { id: string }) {
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
