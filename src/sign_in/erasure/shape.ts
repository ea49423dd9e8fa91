import { text } from "../../http/fields.ts";
import { OptionalProof } from "../totp/shape.ts";

export const erase = OptionalProof.extend({
	email: text(254).describe("Your email address, to confirm that you mean yourself."),
});
