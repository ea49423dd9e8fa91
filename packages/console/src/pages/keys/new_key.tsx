import { ownKeys } from "./keys.ts";
import { NewKey } from "./new_view.tsx";

/** A new key of the signed-in user. */
export default () => <NewKey keys={ownKeys} />;
