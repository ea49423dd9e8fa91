import { useState } from "preact/hooks";
import type { DeviceRequest } from "tenantry-client";
import { api } from "../../session.ts";
import { Field, Form, text } from "../../ui/form.tsx";
import { PageView } from "../../ui/page.tsx";
import { Decision } from "./decision.tsx";

/** Somebody else may have sent the code or the link, to get into the person's account. */
const WARNING =
	"Continue only if you started this yourself just now, on a device that you use. Nobody from Tenantry will ever send you a code.";

type Entered = { user_code: string; app: DeviceRequest };

function Code({ onEnter }: { onEnter: (entered: Entered) => void }) {
	const given = new URLSearchParams(location.search).get("user_code") ?? "";
	async function enter(fields: FormData) {
		const user_code = text(fields, "user_code");
		onEnter({ user_code, app: await api.deviceRequests.preview({ user_code }) });
	}
	return (
		<Form action="Continue" asks={false} onSubmit={enter}>
			<p>{WARNING}</p>
			<Field
				name="user_code"
				label="The code on the device"
				hint="Eight letters, such as BCDF-GHJK. Check that the device shows the same code."
				defaultValue={given}
				autocapitalize="characters"
				spellcheck={false}
				required
			/>
		</Form>
	);
}

/** The page for the code that a device shows (docs/oauth.md#devices). */
export default function DevicePage() {
	const [entered, setEntered] = useState<Entered>();
	const [result, setResult] = useState("");
	async function deny(user_code: string) {
		await api.deviceRequests.deny({ user_code });
		setResult("The device gets no access. You can close this page.");
	}
	return (
		<PageView title="Allow a device">
			{result ? (
				<p role="status">{result}</p>
			) : !entered ? (
				<Code onEnter={setEntered} />
			) : (
				<Decision
					app={entered.app}
					onAllow={async (choice) => {
						await api.deviceRequests.approve({ user_code: entered.user_code, ...choice });
						setResult("The device has access. Go back to it. You can close this page.");
					}}
					onCancel={() => deny(entered.user_code)}
				>
					It continues on the device that shows the code <strong>{entered.user_code}</strong>.{" "}
					{WARNING}
				</Decision>
			)}
		</PageView>
	);
}
