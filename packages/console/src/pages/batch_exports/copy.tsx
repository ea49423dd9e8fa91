/** The dialogs that duplicate an export, and move it to another destination. */
import { useRef, useState } from "preact/hooks";
import type { BatchExport } from "tenantry-client";
import { useNavigate } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Button, SecondaryButton } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { say, Words, wordsOf } from "../../ui/feedback.tsx";
import { Field, Form, Select, text } from "../../ui/form.tsx";
import { SettingFields } from "../../ui/setting_fields.tsx";
import { besideSettings, changesOf, configOf } from "../../ui/settings.ts";
import { settingsOf } from "./destination_settings.ts";
import { TYPES, wordsOfType } from "./destinations.ts";
import { destinationWith, updateWith } from "./fields.tsx";
import { type Opened, windows } from "./states.tsx";
import { useTrial } from "./trial.tsx";

type Of = Pick<Opened, "of" | "at">;

/** Returns the destination in the form: only what differs, if the type is that of the export. */
function destinationIn({ of: { destination } }: Of, fields: FormData) {
	const type = text(fields, "type");
	const settings = settingsOf(type);
	return type === destination.type
		? updateWith({ type, config: changesOf(settings, fields, destination.config) })
		: updateWith({ type, config: configOf(settings, fields) });
}

/** Returns a key for a request that makes something: the same if the same request is repeated. */
function useKeyOf() {
	const last = useRef({ body: "", key: "" });
	return (body: unknown) => {
		const text = JSON.stringify(body);
		if (text !== last.current.body) last.current = { body: text, key: crypto.randomUUID() };
		return last.current.key;
	};
}

/** The form of a copy. `onMade` gets it. */
function CopyForm({
	moves,
	onMade,
	onClose,
	...opened
}: Of & { moves: boolean; onMade: (copy: BatchExport) => unknown; onClose: () => void }) {
	const { of, at } = opened;
	const [type, setType] = useState<string>(of.destination.type);
	const trial = useTrial();
	const keyOf = useKeyOf();
	const isSame = type === of.destination.type;
	const settings = settingsOf(type);
	async function test(fields: FormData) {
		const { model, xql_query } = of;
		const destination = destinationIn(opened, fields);
		await besideSettings(settings, () =>
			trial.run(type, () =>
				isSame
					? api.batchExports.test(at, { destination })
					: api.projectBatchExports.testNew(
							{ project: of.team_id },
							{
								model,
								destination: destinationWith({ type, config: configOf(settings, fields) }),
								xql_query,
							},
						),
			),
		);
	}
	async function create(fields: FormData) {
		const body = { name: text(fields, "name"), destination: destinationIn(opened, fields) };
		const idempotencyKey = keyOf(body);
		await onMade(
			await besideSettings(settings, () =>
				api.batchExports.duplicate(at, body, { idempotencyKey }),
			),
		);
	}
	return (
		<Form
			action={moves ? "Move export" : "Duplicate export"}
			others={[["Test destination", test]]}
			onSubmit={create}
			onCancel={onClose}
		>
			{moves ? (
				<p>
					A copy continues where “{of.name}” stops, which is then paused. Each window is exported by
					one of the two. What was exported already stays where it is.
				</p>
			) : (
				<p>The copy is paused, and starts without runs. Resume it when it is ready.</p>
			)}
			<div onInput={trial.clear}>
				<Field
					name="name"
					label="Name of the copy"
					required
					maxLength={400}
					defaultValue={`${of.name.slice(0, 390)} (copy)`}
				/>
				<Select
					name="type"
					label="Destination"
					options={TYPES}
					value={type}
					onChange={({ currentTarget }) => setType(currentTarget.value)}
				/>
				<SettingFields
					key={type}
					type={type}
					settings={settings}
					config={isSame ? of.destination.config : undefined}
				/>
			</div>
			{trial.panel}
		</Form>
	);
}

/** What a move has done: the step that comes next, and why it failed. */
type Progress = {
	step: number;
	error: string;
	isBusy: boolean;
	/** Whether the service said, after the error, that the step isn't done. */
	isKnown: boolean;
};

const MARKS = { good: "✓", bad: "×", quiet: "○" } as const;

function Step({ words, mood, error }: { words: string; mood: keyof typeof MARKS; error: string }) {
	const state = { good: "Done", bad: "Failed", quiet: "Not done" }[mood];
	return (
		<li class={`export-step ${mood}`}>
			<span class="export-step-mark" aria-hidden="true">
				{MARKS[mood]}
			</span>
			<span>
				<strong>{words}</strong> <span class="soft">{state}</span>
				{error && (
					<span class="export-step-error">
						<Words key={error} text={error} />
					</span>
				)}
			</span>
		</li>
	);
}

type Made = { organization: string; id: string };

/**
 * Tests the copy itself: a role trusts the subject of the old export, and the copy has another one,
 * which the error names.
 * @throws with the error of the step that failed
 */
async function testCopy(to: Made) {
	const { success, steps } = await api.batchExports.test(to, {});
	const failed = steps.find(({ error }) => error !== null);
	if (!success) throw new Error(failed?.error ?? "The test of the copy failed.");
}

/**
 * The steps after the copy is made. `Idempotency-Key` makes a repeated step happen once. If the
 * response of a step is lost, the copy tells whether it is done.
 */
function useMove({ of, at }: Of, onDone: (copy: BatchExport, note: string) => void) {
	const [copy, setCopy] = useState<BatchExport>();
	const [progress, setProgress] = useState<Progress>({
		step: 1,
		error: "",
		isBusy: false,
		isKnown: true,
	});
	const [idempotencyKey] = useState(() => crypto.randomUUID());

	async function handOver(to: Made, onUnsure: () => void) {
		try {
			await api.batchExports.handOver(at, { to: to.id }, { idempotencyKey });
		} catch (error) {
			const read = await api.batchExports.get(to).catch(() => undefined);
			if (read?.paused === false) return;
			if (!read) onUnsure();
			throw error;
		}
	}

	async function run(made: BatchExport) {
		setCopy(made);
		const to = { organization: at.organization, id: made.id };
		let { step } = progress;
		let isKnown = true;
		const begin = (next: number) => {
			step = next;
			setProgress({ step, error: "", isBusy: true, isKnown: true });
		};
		try {
			begin(step);
			if (step === 1) {
				await testCopy(to);
				begin(2);
			}
			if (step === 2) {
				await handOver(to, () => {
					isKnown = false;
				});
				begin(3);
			}
			const { windows: n } = await api.batchExports.retry(to);
			const missed = n > 0 ? ` It exports ${windows(n)} that “${of.name}” hasn't delivered.` : "";
			onDone(made, `“${made.name}” continues, and “${of.name}” is paused.${missed}`);
		} catch (error) {
			setProgress({ step, error: wordsOf(error), isBusy: false, isKnown });
		}
	}
	return { copy, progress, run };
}

/** What is true after a step has failed. */
function wordsAfter({ step, isKnown }: Progress, of: BatchExport, copy: BatchExport) {
	if (step === 3)
		return `“${copy.name}” continues, and “${of.name}” is paused. Only the windows that weren't delivered are left.`;
	return isKnown
		? `“${copy.name}” is created and paused. “${of.name}” exports as before, so nothing is missing.`
		: `“${copy.name}” is created. The service doesn't say whether it continues already.`;
}

const Steps = ({
	of,
	copy,
	move: { progress, run },
	onClose,
}: {
	of: BatchExport;
	copy: BatchExport;
	move: ReturnType<typeof useMove>;
	onClose: () => void;
}) => {
	const { to } = useOrganization();
	const { step, error, isBusy } = progress;
	const mood = (at: number) => (at < step ? "good" : at === step && error ? "bad" : "quiet");
	const shown = (at: number) => (at === step ? error : "");
	return (
		<>
			<div role="status" aria-busy={isBusy}>
				<ol class="export-steps">
					{[
						`Create “${copy.name}” (${wordsOfType(copy.destination.type)})`,
						"Test the copy",
						`Pause “${of.name}”, and continue with the copy`,
						`Export what “${of.name}” hasn't delivered`,
					].map((words, at) => (
						<Step key={words} words={words} mood={mood(at)} error={shown(at)} />
					))}
				</ol>
			</div>
			{error && (
				<p>
					{wordsAfter(progress, of, copy)}{" "}
					{step === 1 && "Allow what the error names, or correct the settings of the copy. "}If you
					continue, what is done isn't repeated, and no window is exported twice.{" "}
					<a href={to(`batch_exports/${copy.id}`)}>See the copy</a>
				</p>
			)}
			<div class="buttons">
				<SecondaryButton onPress={onClose}>Close</SecondaryButton>
				<Button onPress={() => run(copy)}>Continue</Button>
			</div>
		</>
	);
};

/** Asks for the destination of a copy, which then continues for the export if it `moves`. */
export default function Copy({
	of,
	at,
	reload,
	moves,
	onClose,
}: Opened & { moves: boolean; onClose: () => void }) {
	const { to } = useOrganization();
	const navigate = useNavigate();
	function open(copy: BatchExport, note: string) {
		onClose();
		say(note);
		navigate(to(`batch_exports/${copy.id}`));
	}
	const move = useMove({ of, at }, open);
	const close = () => {
		onClose();
		if (move.copy) reload();
	};
	return (
		<Dialog title={moves ? `Move “${of.name}”` : `Duplicate “${of.name}”`} onClose={close}>
			{move.copy ? (
				<Steps of={of} copy={move.copy} move={move} onClose={close} />
			) : (
				<CopyForm
					of={of}
					at={at}
					moves={moves}
					onClose={onClose}
					onMade={(copy) =>
						moves ? move.run(copy) : open(copy, `“${copy.name}” is created, and paused.`)
					}
				/>
			)}
		</Dialog>
	);
}
