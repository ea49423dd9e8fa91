import { useMemo, useState } from "preact/hooks";
import type { CreateInviteBody } from "tenantry-client";
import { useOrganization } from "../../organization.tsx";
import { Area, Check, Form, rejection, text } from "../../ui/form.tsx";
import { PageView } from "../../ui/page.tsx";
import { accessIn, ProjectAccess } from "./access.tsx";
import { type Addresses, addressesIn } from "./addresses.ts";
import { Invited } from "./invited.tsx";
import { LevelChoice, levelIn } from "./parts.tsx";
import { type Outcome, sendInvites } from "./send.ts";

const people = (count: number) => (count === 1 ? "1 person" : `${count} people`);

/** Shows the people in the text while the user types. */
function Preview({ invitees, unknown, repeated }: Addresses) {
	return (
		<aside class="panel invitees" aria-label="Who will be invited">
			<p role="status">
				<strong>{invitees.length === 0 ? "Nobody yet" : people(invitees.length)}</strong>
				{repeated > 0 && ` · ${repeated} more than once`}
			</p>
			{invitees.length === 0 && unknown.length === 0 && (
				<p class="quiet">The people you enter appear here.</p>
			)}
			{invitees.length + unknown.length > 0 && (
				// biome-ignore lint/a11y/noNoninteractiveTabindex: a long list scrolls, with the keyboard too
				<ul tabIndex={0}>
					{unknown.map((part) => (
						<li key={`?${part}`} class="not-an-address">
							“{part}” isn't an email address.
						</li>
					))}
					{invitees.map(({ email, first_name }) => (
						<li key={email}>
							{email}
							{first_name && <small class="below">{first_name}</small>}
						</li>
					))}
				</ul>
			)}
		</aside>
	);
}

const bodiesOf = (invitees: Addresses["invitees"], fields: FormData): CreateInviteBody[] =>
	invitees.map((invitee) => ({
		target_email: invitee.email,
		first_name: invitee.first_name,
		level: levelIn(text(fields, "level")),
		message: text(fields, "message") || null,
		private_project_access: accessIn(fields),
		send_email: fields.has("send_email"),
	}));

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
	const addresses = useMemo(() => addressesIn(pasted), [pasted]);
	const { invitees, unknown } = addresses;

	async function invite(fields: FormData) {
		if (unknown.length > 0)
			throw rejection("target_email", "Correct or remove invalid email addresses.");
		if (invitees.length === 0) throw rejection("target_email", "Enter at least one email address.");
		setOutcome(await sendInvites(organization, bodiesOf(invitees, fields)));
	}

	if (outcome)
		return (
			<Invited
				outcome={outcome}
				onCorrect={(text) => {
					setPasted(text);
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
						hint="Separated by line breaks, commas, semicolons or spaces, with or without names."
						placeholder={'grace@example.com, "Lovelace, Ada" <ada@example.com>'}
						rows={5}
						value={pasted}
						onInput={({ currentTarget }) => setPasted(currentTarget.value)}
					/>
					<Preview {...addresses} />
					<LevelChoice chosen={level} onChange={setLevel} />
					{level === 1 && <ProjectAccess />}
					<Mail />
				</Form>
			</div>
		</PageView>
	);
}
