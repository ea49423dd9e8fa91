import { useState } from "preact/hooks";
import { TenantryError } from "tenantry-client";
import { useLoad } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Show } from "../../ui/feedback.tsx";
import { Check, FormDialog } from "../../ui/form.tsx";

/** The maximum number of search results. */
const SHOWN = 50;

/** A dialog to choose members of the organization. */
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
	const { at, organization } = useOrganization();
	const [search, setSearch] = useState("");
	const [chosen, setChosen] = useState<readonly string[]>(before);
	const found = useLoad(
		async (signal) => {
			const { results, count } = await api.members.list(
				{ ...at, limit: SHOWN, ...(search && { search }) },
				{ signal },
			);
			return { results, count, search };
		},
		[organization.id, search],
	);
	return (
		<FormDialog
			title={`Choose recipients: ${title}`}
			action="Save"
			onClose={onClose}
			onSubmit={async () => {
				if (chosen.length === 0)
					throw new TenantryError({
						type: "validation_error",
						code: "required",
						status: 400,
						detail: "Choose at least one person.",
					});
				onChosen([...chosen]);
			}}
		>
			<input
				type="search"
				aria-label="Search members"
				placeholder="Search members"
				onChange={({ currentTarget }) => setSearch(currentTarget.value)}
				onKeyDown={(event) => {
					if (event.key !== "Enter") return;
					event.preventDefault();
					setSearch(event.currentTarget.value);
				}}
			/>
			<div class="choices">
				{/* A search hides checkboxes, so they have no names. The hidden field below has the value. */}
				<Show of={found}>
					{({ results, count, search }) => (
						<>
							{results.map(({ user }) => (
								<Check
									key={user.uuid}
									name=""
									label={
										<>
											{user.first_name || user.email}{" "}
											{user.first_name && <small>{user.email}</small>}
										</>
									}
									checked={chosen.includes(user.uuid)}
									onChange={(isTicked) =>
										setChosen([
											...chosen.filter((uuid) => uuid !== user.uuid),
											...(isTicked ? [user.uuid] : []),
										])
									}
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
			<input type="hidden" name="chosen" value={chosen.toSorted().join(" ")} />
			<p role="status">
				<small>{chosen.length} chosen</small>
			</p>
		</FormDialog>
	);
}
