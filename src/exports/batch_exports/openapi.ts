import { describe } from "../../http/openapi.ts";
import { documentAs } from "../../http/router.ts";
import { Destination, DestinationUpdate } from "../destinations/document.ts";
import { create, update } from "./shape.ts";

documentAs(create.shape.destination, Destination);
for (const option of Destination.options)
	describe(option, { type: "The kind of destination.", config: "The destination's settings." });

documentAs(update.shape.destination.unwrap(), DestinationUpdate);
for (const option of DestinationUpdate.options)
	describe(option, {
		type: "The kind of destination, which can't be changed.",
		config: "The settings to change. Null removes one.",
	});
