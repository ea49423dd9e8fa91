/** The names under which a plugin's main file is stored. The first that exists is used. */
export const MAIN_FILES = ["index.ts", "index.js"];

/** Files that browsers load. */
export const BROWSER_FILES = ["site.ts", "frontend.tsx"];

/** Whether the file is compiled when it is saved. */
export const isCompiled = (filename: string) =>
	MAIN_FILES.includes(filename) || BROWSER_FILES.includes(filename);
