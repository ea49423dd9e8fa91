/** Returns the origins in `CORS_ORIGINS`, whose scripts may call the API; `*` is every one. */
export const allowedOrigins = ({ CORS_ORIGINS }: Pick<Env, "CORS_ORIGINS">) =>
	CORS_ORIGINS.split(",")
		.map((origin) => origin.trim())
		.filter((origin) => origin !== "");

/** Hosts that always lead to the same machine, unlike names that anyone can point to it. */
const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1])$/;

/** Whether a URL is one of a server on the browser's machine. */
export const isLoopback = ({ hostname }: URL) => LOOPBACK.test(hostname);
