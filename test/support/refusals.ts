/** The answer to a field (`attr`) or a rule that is broken. */
export const wrong = (code: string, detail: unknown, attr: string | null) => ({
	status: 400,
	body: { type: "validation_error", code, detail, attr },
});

/** The answer to who may not. */
export const forbidden = (detail: string) => ({
	status: 403,
	body: {
		type: "authentication_error",
		code: "permission_denied",
		detail,
		attr: null,
	},
});
