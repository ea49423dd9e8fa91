/** The types of destinations of audit streams. */
import { SINK_TYPES } from "../../generated.ts";
import { typesIn } from "../../ui/settings.ts";

export const { TYPES, typeOf, settingsOf, wordsOfType, placeOf, isSecret } = typesIn(SINK_TYPES);
