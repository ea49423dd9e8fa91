import { useState } from "preact/hooks";
import { useLoad } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Show } from "../../ui/feedback.tsx";
import { Check, FormDialog, rejection } from "../../ui/form.tsx";

/** The maximum number of search results. */
const SHOWN = 50;

const SearchMembers = ({ onChange }: { onChange: (search: string) => void }) => (
	<input
		type="search"
		aria-label="Search members"
		placeholder="Search members"
		onChange={({ currentTarget }) => onChange(currentTarget.value)}
		onKeyDown={(event) => {
			if (event.key !== "Enter") return;
			event.preventDefault();
			onChange(event.currentTarget.value);
		}}
	/>
);

/**
 * A search for members, with a checkbox for each. A search hides checkboxes, so they have no names.
 */
function Choices({
	chosen,
	onChange,
}: {
	/** UUIDs of users. */
	chosen: readonly string[];
	onChange: (uuids: string[]) => void;
}) {
	const { at } = useOrganization();
	const [search, setSearch] = useState("");
	const found = useLoad(
		async (signal) => {
			const { results, count } = await api.members.list(
				{ ...at, limit: SHOWN, ...(search && { search }) },
				{ signal },
			);
			return { results, count, search };
		},
		[at.organization, search],
	);
	const toggle = (uuid: string, isTicked: boolean) =>
		onChange([...chosen.filter((one) => one !== uuid), ...(isTicked ? [uuid] : [])]);
	return (
		<>
			<SearchMembers onChange={setSearch} />
			<div class="choices">
				<Show of={found}>
					{({ results, count, search }) => (
						<>
							{results.map(({ user: { uuid, first_name, email } }) => (
								<Check
									key={uuid}
									name=""
									label={
										<>
											{first_name || email} {first_name && <small>{email}</small>}
										</>
									}
									checked={chosen.includes(uuid)}
									onChange={(isTicked) => toggle(uuid, isTicked)}
								/>
							))}
							{results.length === 0 && (
								<p>No member has “{search}” in their name or email address.</p>
							)}
							{count > results.length && (
								<p>
									<small>{count - results.length} more members. Search to find them.</small>
								</p>
							)}
						</>
					)}
				</Show>
			</div>
		</>
	);
}

export function PeopleDialog({
	title,
	chosen: before,
	onChosen,
	onClose,
}: {
	title: string;
	/** UUIDs of users. */
	chosen: readonly string[];
	onChosen: (uuids: string[]) => void;
	onClose: () => void;
}) {
	const [chosen, setChosen] = useState<readonly string[]>(before);
	return (
		<FormDialog
			title={`Choose recipients: ${title}`}
			action="Save"
			onClose={onClose}
			onSubmit={async () => {
				if (chosen.length === 0) throw rejection(null, "Choose at least one person.");
				onChosen([...chosen]);
			}}
		>
			<Choices chosen={chosen} onChange={setChosen} />
			<input type="hidden" name="chosen" value={chosen.toSorted().join(" ")} />
			<p role="status">
				<small>{chosen.length} chosen</small>
			</p>
		</FormDialog>
	);
}
