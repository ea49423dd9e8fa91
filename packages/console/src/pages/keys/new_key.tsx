import { ownKeys } from "./keys.ts";
import { NewKey } from "./new_view.tsx";

/** The page that creates a key of the signed-in user. */
export default () => <NewKey keys={ownKeys} />;
