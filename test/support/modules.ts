/**
 * Vite's module runner asks its server about a module on each `import()`, even if it is loaded, and
 * parallel requests share the promise of the response. A request that awaits a promise of another
 * one can hang. Modules don't change during a run, so there is no need to ask about a loaded one.
 */
type Module = { evaluated: boolean };

type Runner = {
	evaluatedModules: { getModuleByUrl(url: string): Module | undefined };
	cachedModule(url: string, importer?: string): Promise<Module>;
};

declare const __vitest_mocker__: { moduleRunner: Runner };

const { moduleRunner } = __vitest_mocker__;
const ask = Object.getPrototypeOf(moduleRunner).cachedModule.bind(moduleRunner);

moduleRunner.cachedModule = async (url, importer) => {
	const module = moduleRunner.evaluatedModules.getModuleByUrl(url);
	return module?.evaluated ? module : ask(url, importer);
};
