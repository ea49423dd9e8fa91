/** The settings of the types of destinations, for forms. */
import { DESTINATION_SETTINGS } from "../../generated_settings.ts";
import { settingsIn } from "../../ui/settings.ts";

export const { settingsOf, isSecret } = settingsIn(DESTINATION_SETTINGS);
