import { ownKeys } from "./keys.ts";
import { NewKey } from "./new_view.tsx";

export default () => <NewKey keys={ownKeys} />;
