import { createContext } from "preact";
import { useContext, useState } from "preact/hooks";
import { Route, Router, useRoute } from "preact-iso/router";
import type { ServiceAccount } from "tenantry-client";
import { lazy } from "../../lazy.tsx";
import { type Loaded, useLoad, useNavigate } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Button, LinkButton, SecondaryButton } from "../../ui/button.tsx";
import { useSave } from "../../ui/conflict.tsx";
import { confirm, Dialog } from "../../ui/dialog.tsx";
import { Empty, say } from "../../ui/feedback.tsx";
import { LoadedPage, PageView, Section } from "../../ui/page.tsx";
import { Badge, Facts, levelName, Time } from "../../ui/values.tsx";
import { AccountForm, type AccountSettings } from "./account_form.tsx";
import { EditKey } from "./edit_view.tsx";
import { IssuerSection } from "./issuer_list.tsx";
import { KeyList } from "./key_list.tsx";
import { KeyView } from "./key_view.tsx";
import { keysOf } from "./keys.ts";
import { NewKey } from "./new_view.tsx";
import { OnlyAdmins } from "./only_admins.tsx";

const NewIssuer = lazy(() => import("./new_issuer.tsx"));
const Issuer = lazy(() => import("./issuer.tsx"));

const LABELS = { name: "Name", level: "Level", projects: "Private projects" };

type Context = {
	loaded: Loaded<ServiceAccount>;
	account: ServiceAccount;
	keys: ReturnType<typeof keysOf>;
};

const Current = createContext<Context | undefined>(undefined);

function useAccount() {
	const context = useContext(Current);
	if (!context) throw new Error("This page isn't below a service account.");
	return context;
}

function Edit() {
	const { loaded, account } = useAccount();
	const [isOpen, setOpen] = useState(false);
	const { at } = useOrganization();
	const close = () => setOpen(false);
	const { save, dialog } = useSave<ServiceAccount, AccountSettings>({
		read: () => api.serviceAccounts.get({ ...at, id: account.id }),
		update: (account, changes) => api.serviceAccounts.update({ ...at, ...account }, changes),
		onSaved: async ({ name }) => {
			await loaded.reload();
			close();
			say(`“${name}” is saved.`);
		},
		labels: LABELS,
	});
	return (
		<>
			<SecondaryButton onPress={() => setOpen(true)}>Edit</SecondaryButton>
			{isOpen && (
				<Dialog title={`Edit “${account.name}”`} onClose={close}>
					<AccountForm
						before={account}
						action="Save"
						onCancel={close}
						onSubmit={(settings) => save(account, settings)}
					/>
				</Dialog>
			)}
			{dialog}
		</>
	);
}

function Delete() {
	const { account } = useAccount();
	const { at, to } = useOrganization();
	const navigate = useNavigate();
	async function remove() {
		const isSure = await confirm({
			title: `Delete “${account.name}”?`,
			text: "Its keys stop working immediately, so programs that use them fail. This can't be undone.",
			action: "Delete account",
			typed: account.name,
		});
		if (!isSure) return;
		await api.serviceAccounts.delete({ ...at, ...account });
		navigate(to("service_accounts"));
		say(`“${account.name}” is deleted.`);
	}
	return (
		<Button class="danger" onPress={remove}>
			Delete
		</Button>
	);
}

function Projects() {
	const { account } = useAccount();
	const { organization } = useOrganization();
	const names = new Map(organization.teams.map(({ id, name }) => [id, name]));
	if (account.level === 8) return <>All</>;
	if (account.projects.length === 0) return <>All except private projects</>;
	return (
		<>
			All except private projects, and{" "}
			{account.projects.map((id) => names.get(id) ?? id).join(", ")}
		</>
	);
}

function Overview() {
	const { account, keys } = useAccount();
	const { to } = useOrganization();
	const newKey = <LinkButton href={keys.to("new")}>New key</LinkButton>;
	return (
		<PageView
			title={account.name}
			above={[[to("service_accounts"), "Service accounts"]]}
			actions={
				<>
					<Edit />
					<Delete />
				</>
			}
		>
			<div class="panel">
				<Facts
					rows={[
						["Level", <Badge key="level">{levelName(account.level)}</Badge>],
						["Projects", <Projects key="projects" />],
						["Last used", account.last_used_at ? <Time value={account.last_used_at} /> : "Never"],
						["Created", <Time key="created" value={account.created_at} />],
						[
							"ID",
							<code key="id" class="key-value">
								{account.id}
							</code>,
						],
					]}
				/>
			</div>
			<Section title="Keys" actions={newKey}>
				<KeyList
					keys={keys}
					currentId={undefined}
					empty={<Empty title="No keys yet">Create a key for the program.</Empty>}
				/>
			</Section>
			<IssuerSection account={account} />
		</PageView>
	);
}

const New = () => <NewKey keys={useAccount().keys} />;

function Key() {
	const { key = "" } = useRoute().params;
	return <KeyView key={key} keys={useAccount().keys} id={key} />;
}

function ChangeKey() {
	const { key = "" } = useRoute().params;
	return <EditKey key={key} keys={useAccount().keys} id={key} />;
}

const Trust = () => <NewIssuer {...useAccount()} />;

function Trusted() {
	const { issuer = "" } = useRoute().params;
	return <Issuer key={issuer} {...useAccount()} id={issuer} />;
}

function Pages({ id }: { id: string }) {
	const { at, organization, to } = useOrganization();
	const loaded = useLoad(
		(signal) => api.serviceAccounts.get({ ...at, id }, { signal }),
		[organization.id, id],
	);
	return (
		<LoadedPage
			of={loaded}
			title="Service account"
			above={[[to("service_accounts"), "Service accounts"]]}
		>
			{(account) => (
				<Current.Provider
					value={{
						loaded,
						account,
						keys: keysOf(organization, account, to(`service_accounts/${id}`)),
					}}
				>
					<Router>
						<Route path="/" component={Overview} />
						<Route path="/keys/new" component={New} />
						<Route path="/keys/:key" component={Key} />
						<Route path="/keys/:key/edit" component={ChangeKey} />
						<Route path="/issuers/new" component={Trust} />
						<Route path="/issuers/:issuer" component={Trusted} />
					</Router>
				</Current.Provider>
			)}
		</LoadedPage>
	);
}

/** The pages of a service account and its keys. The account is loaded only once. */
export default function AccountPages() {
	const { account = "" } = useRoute().params;
	const { isAdmin } = useOrganization();
	return isAdmin ? <Pages key={account} id={account} /> : <OnlyAdmins />;
}
