import { createContext } from "preact";

/**
 * Whether the user may change what the page is about. If not, the shared components leave out what
 * changes something: actions, menus of rows, danger zones, and the buttons of forms.
 */
export const MayChange = createContext(true);
