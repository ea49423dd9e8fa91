/** The origins in `CORS_ORIGINS`, from which browsers may call. `*` is every origin. */
export const allowedOrigins = ({ CORS_ORIGINS }: Pick<Env, "CORS_ORIGINS">) =>
	CORS_ORIGINS.split(",")
		.map((origin) => origin.trim())
		.filter((origin) => origin !== "");
