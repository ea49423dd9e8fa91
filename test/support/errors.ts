/** Returns a 400: the field `attr` is invalid, or a rule is broken if `attr` is null. */
export const wrong = (code: string, detail: unknown, attr: string | null) => ({
	status: 400,
	body: { type: "validation_error", code, detail, attr },
});

/** Returns a 403. */
export const forbidden = (detail: string) => ({
	status: 403,
	body: {
		type: "authentication_error",
		code: "permission_denied",
		detail,
		attr: null,
	},
});
