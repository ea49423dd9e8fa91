/** The types of destinations of audit streams. */
import { SINK_TYPES } from "../../generated.ts";
import { SINK_SETTINGS } from "../../generated_settings.ts";
import { settingsIn, typesIn } from "../../ui/settings.ts";

export const { TYPES, typeOf, wordsOfType, placeOf } = typesIn(SINK_TYPES);
export const { settingsOf, isSecret } = settingsIn(SINK_SETTINGS);
