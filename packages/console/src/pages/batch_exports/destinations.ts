/** The types of destinations of exports. */
import { DESTINATION_TYPES } from "../../generated.ts";
import { typesIn } from "../../ui/settings.ts";

export const { TYPES, typeOf, wordsOfType, placeOf } = typesIn(DESTINATION_TYPES);
