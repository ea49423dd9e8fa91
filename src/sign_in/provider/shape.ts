import * as z from "zod";

/** Who a provider says has signed in. Everything about its response was verified. */
export const Verified = z.object({
	/** As in `identities`. */
	connection: z.string(),
	/** The domain that the connection belongs to; null for the operator's providers. */
	domain_id: z.string().nullable(),
	/** The provider's id of the account, which never changes. */
	subject: z.string(),
	/** In lower case. */
	email: z.string(),
	is_email_verified: z.boolean(),
	first_name: z.string(),
	last_name: z.string(),
	/** Whether the provider says that it checked a second factor. */
	has_factor: z.boolean(),
	/** Everything that the provider said, for the test of a connection. */
	claims: z.record(z.string(), z.unknown()),
});

export type Verified = z.infer<typeof Verified>;

/** The start of a sign-in, as it is stored. */
export const Started = z.object({
	connection: z.string(),
	/** The domain that the connection belongs to, and its organization; null for the operator's. */
	domain_id: z.string().nullable(),
	organization_id: z.number().nullable(),
	/**
	 * Whether a page of this service led to the provider. Otherwise, its end needs a click: a page
	 * elsewhere can start sign-ins through a provider that signs in whom it likes.
	 */
	is_own: z.boolean().optional(),
	/** If an admin tests the connection: who, and for which domain. Then nobody is signed in. */
	test: z
		.object({ user_id: z.number(), domain_id: z.string(), organization: z.string() })
		.optional(),
});

export type Started = z.infer<typeof Started>;

/** A sign-in that a provider has ended with a POST, which has no cookie. */
export const Finished = z.object({ who: Verified, started: Started });

export type Finished = z.infer<typeof Finished>;
