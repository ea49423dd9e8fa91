import { useMemo, useState } from "preact/hooks";
import type { CreateInviteBody } from "tenantry-client";
import { useOrganization } from "../../organization.tsx";
import { Area, Check, Form, rejection, text } from "../../ui/form.tsx";
import { PageView } from "../../ui/page.tsx";
import { levelName } from "../../ui/values.tsx";
import { accessIn, ProjectAccess, usePrivateProjects } from "./access.tsx";
import { type Addresses, addressesIn } from "./addresses.ts";
import { Invited } from "./invited.tsx";
import { LevelChoice, levelIn } from "./parts.tsx";
import { type Outcome, sendInvites } from "./send.ts";

const people = (count: number) => (count === 1 ? "1 person" : `${count} people`);

/** Shows the people in the text while the user types. */
function Preview({ invitees, problems, ignored, repeated }: Addresses) {
	return (
		<aside class="panel invitees" aria-label="Who will be invited">
			<p role="status">
				<strong>{invitees.length === 0 ? "Nobody yet" : people(invitees.length)}</strong>
				{repeated > 0 && ` · ${repeated} more than once`}
			</p>
			{ignored.length > 0 && (
				<p class="quiet">
					{ignored.length === 1 ? "This column isn't" : "These columns aren't"} used:{" "}
					{ignored.join(", ")}.
				</p>
			)}
			{invitees.length === 0 && problems.length === 0 && (
				<p class="quiet">The people you enter appear here.</p>
			)}
			{invitees.length + problems.length > 0 && (
				// biome-ignore lint/a11y/noNoninteractiveTabindex: a long list scrolls, with the keyboard too
				<ul tabIndex={0}>
					{problems.map((problem) => (
						<li key={`?${problem}`} class="not-an-address">
							{problem}
						</li>
					))}
					{invitees.map(({ email, first_name, said }) => (
						<li key={email}>
							{email}
							<small class="below">
								{[first_name, said?.level && levelName(said.level)].filter(Boolean).join(" · ")}
							</small>
						</li>
					))}
				</ul>
			)}
		</aside>
	);
}

const bodiesOf = (invitees: Addresses["invitees"], fields: FormData): CreateInviteBody[] =>
	invitees.map(({ email, first_name, said }) => ({
		target_email: email,
		first_name,
		level: said?.level ?? levelIn(text(fields, "level")),
		message: text(fields, "message") || null,
		private_project_access: said?.projects ?? ((said?.level ?? 1) === 1 ? accessIn(fields) : []),
		send_email: fields.has("send_email"),
	}));

/** Returns the part of the pasted text that is about these people. */
const textOf = ({ invitees, header }: Addresses, emails: readonly string[]) =>
	[
		...(header !== undefined && emails.length > 0 ? [header] : []),
		...emails.map((email) => invitees.find((one) => one.email === email)?.said?.line ?? email),
	].join("\n");

const Mail = () => (
	<>
		<Area name="message" label="Message" hint="Optional. It is included in the mail." rows={3} />
		<Check
			name="send_email"
			label="Send the invites by mail"
			hint="Otherwise, you get a link for each person to send yourself."
			defaultChecked
		/>
	</>
);

/** The form that invites people by email address (docs/organizations.md#invites). */
export default function InvitePeople() {
	const { organization, to } = useOrganization();
	const [pasted, setPasted] = useState("");
	const [level, setLevel] = useState(1);
	const [outcome, setOutcome] = useState<Outcome>();
	const projects = usePrivateProjects();
	const addresses = useMemo(() => addressesIn(pasted, projects), [pasted, organization]);
	const { invitees, problems, header } = addresses;

	async function invite(fields: FormData) {
		if (problems.length > 0) throw rejection("target_email", "Correct or remove what is invalid.");
		if (invitees.length === 0) throw rejection("target_email", "Enter at least one email address.");
		setOutcome(await sendInvites(organization, bodiesOf(invitees, fields)));
	}

	if (outcome)
		return (
			<Invited
				outcome={outcome}
				onCorrect={(emails) => {
					setPasted(textOf(addresses, emails));
					setLevel(1);
					setOutcome(undefined);
				}}
			/>
		);
	return (
		<PageView title="Invite people" above={[[to("members"), "Members"]]}>
			<div class="beside">
				<Form
					action={invitees.length > 0 ? `Invite ${people(invitees.length)}` : "Invite"}
					onSubmit={invite}
				>
					<Area
						name="target_email"
						label="Email addresses"
						hint="Separated by line breaks, commas, semicolons or spaces, with or without names. Or paste rows of a spreadsheet with the columns Email, Name, Level and Projects, and their header."
						placeholder={'grace@example.com, "Lovelace, Ada" <ada@example.com>'}
						rows={5}
						value={pasted}
						onInput={({ currentTarget }) => setPasted(currentTarget.value)}
					/>
					<Preview {...addresses} />
					{header !== undefined && <p class="quiet">For rows that don't say it:</p>}
					<LevelChoice chosen={level} onChange={setLevel} />
					{level === 1 && <ProjectAccess />}
					<Mail />
				</Form>
			</div>
		</PageView>
	);
}
