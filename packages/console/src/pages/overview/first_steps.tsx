import { useState } from "preact/hooks";
import { useOrganization } from "../../organization.tsx";
import { Section } from "../../ui/page.tsx";

type Step = {
	isDone: boolean;
	path: string;
	words: string;
	why: string;
};

/** Where this browser keeps that somebody has hidden the steps of an organization. */
const hiddenAt = (organization: string) => `tenantry.first_steps.${organization}`;

/** What to do in a new organization. Steps tick themselves; when all are done, nothing is shown. */
export function FirstSteps({
	exports,
	hasVerifiedDomain,
	webhooks,
}: {
	exports: number;
	hasVerifiedDomain: boolean;
	webhooks: number;
}) {
	const { organization, to } = useOrganization();
	const [isHidden, setHidden] = useState(localStorage.getItem(hiddenAt(organization.id)) !== null);
	const steps: Step[] = [
		{
			isDone: Number(organization.member_count) > 1,
			path: to("members/invite"),
			words: "Invite the people you work with",
			why: "Paste their addresses. Each gets a link.",
		},
		{
			isDone: hasVerifiedDomain,
			path: to("domains"),
			words: "Verify your email domain",
			why: "Then you decide how people with its addresses sign in.",
		},
		{
			isDone: exports > 0,
			path: to("batch_exports/new"),
			words: "Set up a batch export",
			why: "Sends events to a bucket, a database or an endpoint on a schedule.",
		},
		{
			isDone: webhooks > 0,
			path: to("webhooks/new"),
			words: "Add a webhook",
			why: "Tells your own systems what happens here.",
		},
	];
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
					<button
						type="button"
						class="secondary outline small"
						onClick={() => {
							localStorage.setItem(hiddenAt(organization.id), "hidden");
							setHidden(true);
						}}
					>
						Hide
					</button>
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
