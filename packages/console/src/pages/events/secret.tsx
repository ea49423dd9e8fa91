import { Snippet } from "../../ui/values.tsx";

/** Shows the secret of a webhook, which the API returns only once. */
export const Secret = ({ secret }: { secret: string }) => (
	<div class="secret">
		<p>
			Copy the secret now. It won’t be shown again. Your endpoint needs it to{" "}
			<a href="/docs/webhooks#verifying" target="_blank" rel="noopener">
				verify signatures
			</a>
			.
		</p>
		<Snippet value={secret} label="Copy secret" />
	</div>
);
