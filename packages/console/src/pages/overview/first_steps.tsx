import { useState } from "preact/hooks";
import type { Attention } from "tenantry-client";
import { useOrganization } from "../../organization.tsx";
import { SmallButton } from "../../ui/button.tsx";
import { Section } from "../../ui/page.tsx";

type Step = {
	isDone: boolean;
	path: string;
	words: string;
	why: string;
};

/** Returns the key in `localStorage` that marks the steps of an organization as hidden. */
const hiddenAt = (organization: string) => `tenantry.first_steps.${organization}`;

type Found = { exports: number; setup: NonNullable<Attention["setup"]> };

const stepsOf = (
	members: number,
	{ exports, setup: { has_verified_domain, has_webhook } }: Found,
	to: (path: string) => string,
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
	const { organization, to } = useOrganization();
	const [isHidden, setHidden] = useState(localStorage.getItem(hiddenAt(organization.id)) !== null);
	const steps = stepsOf(Number(organization.member_count), found, to);
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
				{steps.map(({ isDone, path, words, why }) => (
					<li key={path} class={isDone ? "done" : undefined}>
						<div>
							<a href={path}>{words}</a>
							<p>{why}</p>
						</div>
						{isDone && <small>Done</small>}
					</li>
				))}
			</ol>
		</Section>
	);
}
