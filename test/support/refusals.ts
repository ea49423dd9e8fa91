/** A 400: the field `attr` is wrong, or, if it is null, a rule is broken. */
export const wrong = (code: string, detail: unknown, attr: string | null) => ({
	status: 400,
	body: { type: "validation_error", code, detail, attr },
});

/** A 403. */
export const forbidden = (detail: string) => ({
	status: 403,
	body: {
		type: "authentication_error",
		code: "permission_denied",
		detail,
		attr: null,
	},
});
