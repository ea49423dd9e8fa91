/** Shows the OpenAPI document on the page /docs/reference. */
import { createApiReference } from "./scalar/standalone.esm.js";

const dark = matchMedia("(prefers-color-scheme: dark)");

const reference = createApiReference("#reference", {
	url: "/openapi.json",
	baseServerURL: location.origin,
	// Requests go to this host, and nothing to any other.
	proxyUrl: "",
	telemetry: false,
	withDefaultFonts: false,
	agent: { disabled: true },
	mcp: { disabled: true },
	hideClientButton: true,
	showDeveloperTools: "never",
	// A key is forgotten when the page is closed.
	persistAuth: false,
	authentication: { preferredSecurityScheme: "personal_api_key" },
	// The colours are those of style.css.
	theme: "none",
	forceDarkModeState: dark.matches ? "dark" : "light",
	hideDarkModeToggle: true,
	defaultOpenFirstTag: false,
	documentDownloadType: "direct",
});

dark.addEventListener("change", ({ matches }) =>
	reference.updateConfiguration({
		...reference.getConfiguration(),
		forceDarkModeState: matches ? "dark" : "light",
	}),
);
