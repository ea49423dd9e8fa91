/** What the compiler accepts and rejects. `npm run check` compiles this file; nothing runs it. */
import {
	type Member,
	type Page,
	type PluginWithPluginPage,
	Tenantry,
	verifyWebhook,
} from "../src/index.ts";

type Equal<A, B> =
	(<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

const isTrue = <_ extends true>() => {};

export async function check(tenantry: Tenantry) {
	const id = "018f";
	const organization = "@current";

	const page = await tenantry.members.list({ organization });
	const pageOfMembers: Page<Member> = page;
	isTrue<Equal<(typeof page)["results"][number]["level"], 1 | 8 | 15>>();
	isTrue<Equal<(typeof page)["next"], string | null>>();
	for await (const member of tenantry.members.list({ organization })) member.user.email.at(0);
	const unused: PluginWithPluginPage = await tenantry.pipelineDestinations.listUnused({
		organization,
	});
	isTrue<Equal<Awaited<ReturnType<Tenantry["domains"]["delete"]>>, void>>();

	const domain = await tenantry.domains.create({ organization }, { domain: "example.com" });
	await tenantry.domains.update(
		{ organization, ...domain },
		{ jit_provisioning_enabled: true },
		{ maxAttempts: 1 },
	);
	await tenantry.domains.verify({ organization, ...domain });
	await tenantry.domains.delete({ organization, id });
	await tenantry.projects.get({ id: 5 });
	await tenantry.projects.get(5);
	await tenantry.projects.update("5", { name: "Website" }, { maxAttempts: 1 });
	await tenantry.members.list("@current");
	await tenantry.organizations.list();

	const event = await verifyWebhook("", new Headers(), "whsec_");
	if (event.type === "member.updated" || event.type === "webhook.test") event.data.name?.at(0);
	// @ts-expect-error this type of event doesn't exist
	if (event.type === "member.update") event.data;

	// @ts-expect-error this resource doesn't exist
	tenantry.memberz.list({ organization });
	// @ts-expect-error this method doesn't exist
	tenantry.members.create({ organization });
	// @ts-expect-error the organization is missing
	tenantry.members.list({});
	// @ts-expect-error this parameter doesn't exist
	tenantry.members.list({ organization, organisation: id });
	// @ts-expect-error the id is missing
	tenantry.domains.get({ organization });
	// @ts-expect-error domains don't have a field with their organization
	tenantry.domains.verify(domain);
	// @ts-expect-error of two ids, each must be a property
	tenantry.domains.get(id);
	// @ts-expect-error of two ids, each must be a property
	tenantry.domains.get(organization, id);
	// @ts-expect-error an organization's id isn't a number
	tenantry.organizations.get(5);
	// @ts-expect-error the body is missing
	tenantry.domains.update({ organization, id });
	// @ts-expect-error the body doesn't have this field
	tenantry.domains.update({ organization, id }, { jit: true });
	// @ts-expect-error the field has another type
	tenantry.domains.update({ organization, id }, { jit_provisioning_enabled: "yes" });
	// @ts-expect-error a required field is missing
	tenantry.projects.create({});
	// @ts-expect-error members can't have this level
	tenantry.members.update({ organization, user: "@me" }, { level: 2 });
	// @ts-expect-error a project isn't a domain
	tenantry.domains.verify(await tenantry.projects.get({ id: 5 }));
	// @ts-expect-error domains don't have this field
	domain.isVerified;
	// @ts-expect-error this option doesn't exist
	tenantry.organizations.list({}, { retries: 3 });
	// @ts-expect-error the URL of the service is missing
	new Tenantry({ key: "tnt_" });

	return { pageOfMembers, unused };
}
