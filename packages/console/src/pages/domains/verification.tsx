import { useEffect, useState } from "preact/hooks";
import type { Domain } from "tenantry-client";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { useAction } from "../../ui/button.tsx";
import { say } from "../../ui/feedback.tsx";
import { Section } from "../../ui/page.tsx";
import { Badge, Facts, Snippet, Time } from "../../ui/values.tsx";

/** The interval of checks. */
const AGAIN_MS = 20_000;

const nameOf = ({ domain }: Domain) => `_tenantry-challenge.${domain}`;

export const VerifiedBadge = ({ isVerified }: { isVerified: boolean }) =>
	isVerified ? <Badge mood="good">Verified</Badge> : <Badge mood="warn">Not verified</Badge>;

export const DnsRecord = ({ domain }: { domain: Domain }) => (
	<div class="record">
		<Facts
			rows={[
				["Type", "TXT"],
				["Name", <Snippet key="name" value={nameOf(domain)} label="Copy name" />],
				["Value", <Snippet key="value" value={domain.verification_challenge} label="Copy value" />],
			]}
		/>
	</div>
);

export function Verification({ domain, onVerified }: { domain: Domain; onVerified: () => void }) {
	const { at, isAdmin } = useOrganization();
	const { isBusy, run } = useAction();
	const [seen, setSeen] = useState<{ text: string; at: string }>();

	const check = () =>
		run(async () => {
			const { verification_error } = await api.domains.verify({ ...at, ...domain });
			if (verification_error === null) {
				say(`${domain.domain} is verified.`);
				onVerified();
			} else setSeen({ text: verification_error, at: new Date().toISOString() });
		});

	// After the first check, check again while the page is visible.
	useEffect(() => {
		if (!seen) return undefined;
		const timer = setInterval(() => {
			if (document.visibilityState === "visible") check();
		}, AGAIN_MS);
		return () => clearInterval(timer);
	}, [seen]);

	return (
		<Section title="Verification">
			<p>
				Until the domain is verified, you can't enforce sign-in settings. After three days, another
				organization can claim it.
			</p>
			{isAdmin && (
				<div class="panel">
					<p>
						<strong>1. Add this record</strong> to the DNS of {domain.domain}. If your provider
						appends the domain to names, enter the name without it.
					</p>
					<DnsRecord domain={domain} />
					<p>
						<strong>2. Check the record.</strong> DNS changes usually take minutes, sometimes hours.
					</p>
					<button type="button" aria-disabled={isBusy} aria-busy={isBusy} onClick={check}>
						{isBusy ? "Checking…" : "Check record"}
					</button>
					<div role="status">
						{seen && (
							<p class="dns-answer">
								<strong>{seen.text}</strong>
								<small class="below">
									Checked on <Time value={seen.at} />. This page checks again every{" "}
									{AGAIN_MS / 1000} seconds while it is open.
								</small>
							</p>
						)}
					</div>
				</div>
			)}
		</Section>
	);
}
