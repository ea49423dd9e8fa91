import { useState } from "preact/hooks";
import type { Attention } from "tenantry-client";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { SmallButton } from "../../ui/button.tsx";
import { say } from "../../ui/feedback.tsx";
import { Section } from "../../ui/page.tsx";

type Step = {
	isDone: boolean;
	path: string;
	words: string;
	why: string;
	/** What one click does, with its label. */
	action?: readonly [words: string, run: () => Promise<unknown>];
};

/** Returns the key in `localStorage` that marks the steps of an organization as hidden. */
const hiddenAt = (organization: string) => `tenantry.first_steps.${organization}`;

type Found = { exports: number; setup: NonNullable<Attention["setup"]> };

const stepsOf = (
	members: number,
	{ exports, setup: { has_verified_domain, has_webhook, has_export_access } }: Found,
	to: (path: string) => string,
	limitExports: () => Promise<unknown>,
): Step[] => [
	{
		isDone: members > 1,
		path: to("members/invite"),
		words: "Invite your team",
		why: "Paste email addresses. Each person gets a link.",
	},
	{
		isDone: has_verified_domain,
		path: to("domains"),
		words: "Verify your email domain",
		why: "Then decide how people with addresses of this domain sign in.",
	},
	{
		isDone: has_export_access,
		path: to("members/roles"),
		words: "Decide who may change exports",
		why: "Members may send all events to any server. Let them only view exports, and give others more with a role.",
		action: ["Members may only view exports", limitExports],
	},
	{
		isDone: exports > 0,
		path: to("batch_exports/new"),
		words: "Create a batch export",
		why: "Export events to a bucket, a database or an HTTP receiver on a schedule.",
	},
	{
		isDone: has_webhook,
		path: to("webhooks/new"),
		words: "Add a webhook",
		why: "Send the events of this organization to your own systems.",
	},
];

/** A checklist for a new organization. It disappears when all steps are done. */
export function FirstSteps(found: Found) {
	const { at, organization, to } = useOrganization();
	const [isHidden, setHidden] = useState(localStorage.getItem(hiddenAt(organization.id)) !== null);
	const [isLimited, setLimited] = useState(false);
	async function limitExports() {
		await api.accessControls.create(at, { resource: "batch_export", access_level: "viewer" });
		setLimited(true);
		say("Members may now only view exports. Admins and owners can still do everything.");
	}
	const setup = { ...found.setup, ...(isLimited && { has_export_access: true }) };
	const members = Number(organization.member_count);
	const steps = stepsOf(members, { ...found, setup }, to, limitExports);
	const done = steps.filter(({ isDone }) => isDone).length;
	if (isHidden || done === steps.length) return null;
	return (
		<Section
			title="First steps"
			actions={
				<>
					<small>
						{done} of {steps.length} done
					</small>
					<SmallButton
						onPress={() => {
							localStorage.setItem(hiddenAt(organization.id), "hidden");
							setHidden(true);
						}}
					>
						Hide
					</SmallButton>
				</>
			}
		>
			<ol class="panel first-steps">
				{steps.map(({ isDone, path, words, why, action }) => (
					<li key={path} class={isDone ? "done" : undefined}>
						<div>
							<a href={path}>{words}</a>
							<p>{why}</p>
						</div>
						{isDone && <small>Done</small>}
						{!isDone && action && <SmallButton onPress={action[1]}>{action[0]}</SmallButton>}
					</li>
				))}
			</ol>
		</Section>
	);
}
