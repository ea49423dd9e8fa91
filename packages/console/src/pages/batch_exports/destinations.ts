/** The kinds of destinations and their settings, as public/openapi.json describes them. */

/** A setting of a destination. */
export type Setting = {
	name: string;
	kind: "text" | "secret" | "number" | "boolean" | "choice" | "list";
	isRequired: boolean;
	/** A sentence or two, for people. */
	description: string;
	/** What holds if it isn't given, such as "5432". */
	otherwise?: string;
	/** What the value may be, and what each means. Only of choices. */
	choices?: (readonly [value: string, description: string])[];
	/** Text of many lines, such as a private key. */
	isLong?: boolean;
	isUrl?: boolean;
	maxLength?: number;
	min?: number;
	max?: number;
};

/** The settings of each kind of destination. scripts/destination_settings.ts makes it when the console is built. */
declare const DESTINATION_SETTINGS: Record<string, Setting[]>;

export const settingsOf = (type: string) => DESTINATION_SETTINGS[type] ?? [];
