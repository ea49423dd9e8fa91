import { useEffect, useState } from "preact/hooks";
import type { Domain, Received } from "tenantry-client";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { useAction } from "../../ui/button.tsx";
import { say } from "../../ui/feedback.tsx";
import { Section } from "../../ui/page.tsx";
import { Facts, Snippet, Time } from "../../ui/values.tsx";

type Claimed = Received<Domain, "domains">;

/** How long to wait before the DNS is asked again, in milliseconds. */
const AGAIN_MS = 20_000;

const nameOf = ({ domain }: Claimed) => `_tenantry-challenge.${domain}`;

/** The TXT record that proves a domain. */
export const DnsRecord = ({ domain }: { domain: Claimed }) => (
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

/** The proof that a claimed domain is the organization's. */
export function Verification({ domain, onVerified }: { domain: Claimed; onVerified: () => void }) {
	const { isAdmin } = useOrganization();
	const { isBusy, run } = useAction();
	const [seen, setSeen] = useState<{ text: string; at: string }>();

	const check = () =>
		run(async () => {
			const { verification_error } = await api.domains.verify(domain);
			if (verification_error === null) {
				say(`${domain.domain} is verified.`);
				onVerified();
			} else setSeen({ text: verification_error, at: new Date().toISOString() });
		});

	// Once an admin has checked, the page goes on while it can be seen.
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
				Until it is verified, this is only a claim: nothing can be enforced for its addresses, and
				three days after you added it, another organization may take the name.
			</p>
			{isAdmin && (
				<div class="panel">
					<p>
						<strong>1. Add this record</strong> where the DNS of {domain.domain} is managed. If your
						provider adds the domain to names by itself, leave it out at the end.
					</p>
					<DnsRecord domain={domain} />
					<p>
						<strong>2. Check it.</strong> A new record is often seen in minutes, sometimes in hours.
					</p>
					<button type="button" aria-disabled={isBusy} aria-busy={isBusy} onClick={check}>
						{isBusy ? "Checking…" : "Check record"}
					</button>
					<div role="status">
						{seen && (
							<p class="dns-answer">
								<strong>{seen.text}</strong>
								<small class="below">
									Seen at <Time value={seen.at} />. This page asks again every {AGAIN_MS / 1000}{" "}
									seconds while it is open.
								</small>
							</p>
						)}
					</div>
				</div>
			)}
		</Section>
	);
}
