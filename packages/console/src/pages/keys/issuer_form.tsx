import { useState } from "preact/hooks";
import type { CreateTrustedIssuerBody, PersonalApiKey, TrustedIssuer } from "tenantry-client";
import { Area, assertChosen, Field, Form, rejection, text, texts } from "../../ui/form.tsx";
import { linesOf } from "../../ui/lines.ts";
import type { Scope } from "../../ui/scopes.ts";
import type { Keys } from "./keys.ts";
import { Reach } from "./reach.tsx";
import { ScopePicker } from "./scope_picker.tsx";

/** The values of the form. The service sets the audience of a new issuer if there is none. */
export type IssuerSettings = Required<Omit<CreateTrustedIssuerBody, "audience">> &
	Pick<CreateTrustedIssuerBody, "audience">;

const claimLines = (claims: Readonly<Record<string, string>>) =>
	Object.entries(claims)
		.map(([name, value]) => `${name}=${value}`)
		.join("\n");

/** Returns the claims in lines such as `environment=production`. */
function claimsIn(lines: string) {
	const claims = linesOf(lines).map((line) => {
		const [name = "", ...value] = line.split("=");
		if (value.length === 0) throw rejection("claims", `“${line}” has no =.`);
		return [name.trim(), value.join("=").trim()] as const;
	});
	return Object.fromEntries(claims);
}

function projectsIn(fields: FormData, isLimited: boolean) {
	const projects = texts(fields, "project").map(Number);
	if (isLimited) assertChosen("scoped_projects", projects);
	return isLimited ? projects : [];
}

/** Whose tokens are accepted. */
const Rules = ({ before }: { before: TrustedIssuer | undefined }) => (
	<>
		<Field
			name="name"
			label="Name"
			required
			maxLength={40}
			defaultValue={before?.name}
			placeholder="Deployment of main"
			hint="What the job does. It is visible in the activity log."
		/>
		<Field
			name="issuer"
			label="Issuer"
			type="url"
			required
			maxLength={512}
			spellcheck={false}
			defaultValue={before?.issuer}
			placeholder="https://token.actions.githubusercontent.com"
			hint="The claim iss of its tokens. For GitLab CI, the URL of GitLab."
		/>
		<Field
			name="subject"
			label="Subject"
			required
			maxLength={500}
			spellcheck={false}
			defaultValue={before?.subject}
			placeholder="repo:owner/repository:ref:refs/heads/main"
			hint="The claim sub, exactly. A * at the end, after two parts that end with : or /, stands for any text."
		/>
		<Area
			name="claims"
			label="Other claims"
			rows={2}
			spellcheck={false}
			defaultValue={claimLines(before?.claims ?? {})}
			placeholder="repository_owner_id=1234567"
			hint="One per line, as name=value. The values must be the same in the token."
		/>
		<Field
			name="audience"
			label="Audience"
			maxLength={500}
			required={before !== undefined}
			spellcheck={false}
			defaultValue={before?.audience}
			hint={
				before
					? "The claim aud, exactly."
					: "The claim aud, exactly. If empty, the URL of this service."
			}
		/>
	</>
);

/** The settings of an issuer that a service account trusts. */
export function IssuerForm({
	keys,
	before,
	action,
	onSubmit,
	onCancel,
}: {
	keys: Keys<PersonalApiKey>;
	before?: TrustedIssuer;
	action: string;
	onSubmit: (settings: IssuerSettings) => Promise<unknown>;
	onCancel: () => void;
}) {
	const [scopes, setScopes] = useState<readonly Scope[]>(before?.scopes ?? ["project:read"]);
	const scoped_projects = before?.scoped_projects ?? [];
	const [isLimited, setLimited] = useState(scoped_projects.length > 0);
	function submit(fields: FormData) {
		const audience = text(fields, "audience");
		return onSubmit({
			name: text(fields, "name"),
			issuer: text(fields, "issuer"),
			subject: text(fields, "subject"),
			claims: claimsIn(text(fields, "claims")),
			...(audience && { audience }),
			scopes: [...scopes],
			scoped_projects: projectsIn(fields, isLimited),
		});
	}
	return (
		<div class="key-form">
			<Form action={action} onSubmit={async (fields) => submit(fields)} onCancel={onCancel}>
				<div class="key-columns">
					<div>
						<Rules before={before} />
						<Reach
							keys={keys}
							before={{ scoped_organizations: [], scoped_projects }}
							kind={isLimited ? "projects" : "none"}
							onChange={(kind) => setLimited(kind === "projects")}
						/>
					</div>
					<div>
						<ScopePicker scopes={scopes} onChange={setScopes} />
					</div>
				</div>
			</Form>
		</div>
	);
}
