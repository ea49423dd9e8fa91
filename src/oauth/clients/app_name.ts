import { displayName } from "../../http/fields.ts";

/** The longest name of an app that is shown. */
export const MAX_NAME_CHARACTERS = 40;

/** The name that an app gives itself. Any value is accepted. */
export const appName = (replacement: string) => displayName(MAX_NAME_CHARACTERS, replacement);
