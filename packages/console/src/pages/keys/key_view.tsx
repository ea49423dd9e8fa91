import { useState } from "preact/hooks";
import type { PersonalApiKey } from "tenantry-client";
import { useLoad, useNavigate, useQuery } from "../../load.ts";
import { continueWith, signOut } from "../../session.ts";
import { Button, SecondaryButton } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { Show, say } from "../../ui/feedback.tsx";
import { Filter } from "../../ui/filters.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { OverlapChoice, overlapIn } from "../../ui/overlap.tsx";
import { LoadedPage, PageView, Section } from "../../ui/page.tsx";
import { effectOf, levelOf, OBJECTS } from "../../ui/scopes.ts";
import { Badge, Facts, Time } from "../../ui/values.tsx";
import { getCurrentKey, type Keys, USAGE_DAYS } from "./keys.ts";
import { Made } from "./made.tsx";
import { expiresSoon, isExpired } from "./states.ts";
import { addressesOf, UseByDay } from "./usage.tsx";

const READABLE = { none: "", read: "Read", run: "Run", write: "Write" };

const MayDo = ({ scopes }: Pick<PersonalApiKey, "scopes">) =>
	scopes.includes("*") ? (
		<>All permissions of its owner</>
	) : (
		<ul class="key-may-do">
			{OBJECTS.map(({ object, title }) => {
				const level = levelOf(scopes, object);
				return level === "none" ? null : (
					<li key={object}>
						<Badge mood={level === "write" ? "warn" : "quiet"}>{READABLE[level]}</Badge> {title}
						<small>{effectOf(object, level)}</small>
					</li>
				);
			})}
		</ul>
	);

/**
 * The names of the organizations or projects of a key. Those that the user can't see are shown as
 * ids.
 */
function Names<Id>({ ids, all }: { ids: readonly Id[]; all: readonly { id: Id; name: string }[] }) {
	const names = new Map(all.map(({ id, name }) => [id, name]));
	return <>{ids.map((id) => names.get(id) ?? String(id)).join(", ")}</>;
}

type Projects = Awaited<ReturnType<Keys<PersonalApiKey>["projects"]>>;

function Where({
	keys,
	of,
	projects,
}: {
	keys: Pick<Keys<PersonalApiKey>, "organization" | "organizations">;
	of: PersonalApiKey;
	projects: Projects;
}) {
	const { scoped_organizations, scoped_projects } = of;
	if (scoped_projects.length > 0)
		return (
			<>
				Only in <Names ids={scoped_projects} all={projects} />
			</>
		);
	if (keys.organization === undefined && scoped_organizations.length > 0)
		return (
			<>
				Only in <Names ids={scoped_organizations} all={keys.organizations()} />
			</>
		);
	return <>Everything that its owner can access</>;
}

function Use<K extends PersonalApiKey>({ keys, of }: { keys: Keys<K>; of: K }) {
	const usage = useLoad((signal) => keys.usage(of.id, { signal }), [of.id]);
	const [{ days }] = useQuery();
	return (
		<Section
			title="Use by day"
			actions={
				<Filter
					name="days"
					label="Period"
					options={[
						["", "Last 30 days"],
						[String(USAGE_DAYS), "Last 90 days"],
					]}
				/>
			}
		>
			<div class="panel">
				<Show of={usage}>
					{({ results }) => {
						const addresses = addressesOf(results);
						return (
							<>
								<UseByDay days={results} shown={days === String(USAGE_DAYS) ? USAGE_DAYS : 30} />
								{addresses.length > 0 && (
									<p class="key-seen">
										Used from {addresses.join(", ")}.{" "}
										{of.allowed_ips.length === 0 && (
											<a href={keys.to(`${of.id}/edit?limit=seen`)}>
												Allow only {addresses.length === 1 ? "this address" : "these addresses"}
											</a>
										)}
									</p>
								)}
							</>
						);
					}}
				</Show>
			</div>
		</Section>
	);
}

function Actions<K extends PersonalApiKey>({
	keys,
	of,
	isSession,
	onRolled,
}: {
	keys: Keys<K>;
	of: K;
	isSession: boolean;
	onRolled: (rolled: PersonalApiKey) => void;
}) {
	const navigate = useNavigate();
	const [isRolling, setRolling] = useState(false);
	async function roll(fields: FormData) {
		const rolled = await keys.roll(of, { overlap: overlapIn(fields) });
		setRolling(false);
		if (isSession && rolled.value) await continueWith(rolled.value);
		onRolled(rolled);
	}
	async function revoke() {
		const isSure = await confirm({
			title: `Revoke “${of.label}”?`,
			text: isSession
				? "This is the key of this session. You are signed out, and programs that use the key fail immediately."
				: "Programs that use the key fail immediately. This can't be undone.",
			action: "Revoke key",
		});
		if (!isSure) return;
		await keys.revoke(of);
		if (isSession) return signOut({ isRevoked: true });
		navigate(keys.above.at(-1)?.[0] ?? "");
		say(`“${of.label}” is revoked.`);
	}
	return (
		<>
			<a class="button secondary" href={keys.to(`${of.id}/edit`)}>
				Edit
			</a>
			<SecondaryButton onPress={() => setRolling(true)}>Roll</SecondaryButton>
			<Button class="danger" onPress={revoke}>
				Revoke
			</Button>
			{isRolling && (
				<FormDialog
					title={`Roll “${of.label}”?`}
					action="Roll key"
					asks={false}
					onClose={() => setRolling(false)}
					onSubmit={roll}
				>
					<p>
						The key gets a new value. Give it to your programs before the old value stops working.
					</p>
					<OverlapChoice
						label="When the old value stops working"
						leaked="If it has leaked. Programs fail until you give them the new value."
						chosen="none"
					/>
				</FormDialog>
			)}
		</>
	);
}

function KeyFacts({
	keys,
	of,
	isSession,
	projects,
}: Parameters<typeof Where>[0] & { isSession: boolean }) {
	const { mask_value, scopes, allowed_ips, expires_at, last_used_at, last_rolled_at } = of;
	const until = of.previous_value_expires_at;
	return (
		<Facts
			rows={[
				[
					"Value",
					<>
						<code class="key-value">{mask_value}</code>{" "}
						{isSession && <Badge mood="good">This session</Badge>}
					</>,
				],
				["Permissions", <MayDo key="scopes" scopes={scopes} />],
				["Access to", <Where key="where" keys={keys} of={of} projects={projects} />],
				["Allowed IP addresses", allowed_ips.join(", ") || "All"],
				[
					"Expires",
					<>
						{expires_at ? <Time value={expires_at} /> : "Never"}{" "}
						{isExpired(of) && <Badge mood="bad">Expired</Badge>}
						{expiresSoon(of) && <Badge mood="warn">Soon</Badge>}
					</>,
				],
				["Last used", last_used_at ? <Time value={last_used_at} /> : "Never"],
				["Created", <Time key="created" value={of.created_at} />],
				...(last_rolled_at
					? [["Last rolled", <Time key="rolled" value={last_rolled_at} />] as const]
					: []),
				...(until ? [["Old value works until", <Time key="until" value={until} />] as const] : []),
			]}
		/>
	);
}

export function KeyView<K extends PersonalApiKey>({ keys, id }: { keys: Keys<K>; id: string }) {
	const [made, setMade] = useState<PersonalApiKey>();
	const loaded = useLoad(
		async (signal) => {
			const [key, current] = await Promise.all([
				keys.get(id, { signal }),
				getCurrentKey({ signal }),
			]);
			const projects = key.scoped_projects.length > 0 ? await keys.projects({ signal }) : [];
			return { key, isSession: current?.id === key.id, projects };
		},
		[keys.to(id)],
	);
	function showRolled(rolled: PersonalApiKey) {
		setMade(rolled);
		loaded.reload();
	}
	return (
		<LoadedPage of={loaded} title="Key" above={keys.above}>
			{({ key, ...rest }) => (
				<PageView
					title={key.label}
					above={keys.above}
					actions={
						<Actions keys={keys} of={key} isSession={rest.isSession} onRolled={showRolled} />
					}
				>
					{made && <Made made={made} organization={keys.organization} />}
					<div class="panel">
						<KeyFacts keys={keys} of={key} {...rest} />
					</div>
					<Use keys={keys} of={key} />
				</PageView>
			)}
		</LoadedPage>
	);
}
