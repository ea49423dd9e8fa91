import { useEffect, useState } from "preact/hooks";
import type { Invitation } from "tenantry-client";
import { useLoad, useNavigate } from "../../load.ts";
import { pathIn } from "../../organization.tsx";
import { api, me, reloadMe, signOut } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { Show } from "../../ui/feedback.tsx";
import { PageView } from "../../ui/page.tsx";

/**
 * The secret part of the invite's link. It stays in the URL, so that the page can be reloaded after
 * signing in.
 */
const tokenIn = () => new URLSearchParams(location.hash.slice(1)).get("invite") ?? "";

function Invite({ invitation, token }: { invitation: Invitation; token: string }) {
	const navigate = useNavigate();
	const { organization_name, target_email, inviter_first_name, is_expired } = invitation;
	const email = me.value?.email;
	async function accept() {
		const { organization } = await api.invites.accept({ token });
		await reloadMe();
		navigate(pathIn(organization.id));
	}
	if (is_expired) return <p>This invite has expired. Please ask your admin for a new one.</p>;
	if (target_email !== email)
		return (
			<>
				<p>
					This invite is for {target_email}, but you are signed in as {email}.
				</p>
				<div class="buttons">
					<Button onPress={signOut}>Sign out</Button>
				</div>
			</>
		);
	return (
		<>
			<p>
				{inviter_first_name || "Somebody"} invites {target_email} to join {organization_name}. Your
				API keys will work there too.
			</p>
			<div class="buttons">
				<Button onPress={accept}>Accept the invite</Button>
			</div>
		</>
	);
}

/** Accepting an invite that requires signing in (docs/organizations.md#accepting-an-invite). */
export default function Accept() {
	const [token, setToken] = useState(tokenIn);
	useEffect(() => {
		const take = () => setToken(tokenIn);
		addEventListener("hashchange", take);
		return () => removeEventListener("hashchange", take);
	}, []);
	const loaded = useLoad((signal) => api.invites.preview({ token }, { signal }), [token]);
	return (
		<PageView title="Accept an invite">
			<Show of={loaded}>{(invitation) => <Invite invitation={invitation} token={token} />}</Show>
		</PageView>
	);
}
