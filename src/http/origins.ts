/** Returns the origins in `CORS_ORIGINS`, whose scripts may call the API; `*` is every one. */
export const allowedOrigins = ({ CORS_ORIGINS }: Pick<Env, "CORS_ORIGINS">) =>
	CORS_ORIGINS.split(",")
		.map((origin) => origin.trim())
		.filter((origin) => origin !== "");
