/** Builds the client as an ES module and as a CommonJS module, each with its types: dist and dist/cjs. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));

rmSync(`${here}dist`, { recursive: true, force: true });
for (const [folder, format] of [
	["dist", "esm"],
	["dist/cjs", "cjs"],
]) {
	execFileSync("tsc", ["-p", ".", "--outDir", folder], { cwd: here, stdio: "inherit" });
	for (const name of readdirSync(here + folder).filter((file) => file.endsWith(".d.ts"))) {
		const file = `${here}${folder}/${name}`;
		// Not all tools resolve imports of .ts files in declarations.
		writeFileSync(file, readFileSync(file, "utf8").replace(/(["']\.\/\w+)\.ts(["'])/g, "$1.js$2"));
	}
	await build({
		absWorkingDir: here,
		entryPoints: ["src/index.ts"],
		outfile: `${folder}/index.js`,
		bundle: true,
		format,
		target: "es2022",
		logLevel: "warning",
	});
}
writeFileSync(`${here}dist/cjs/package.json`, '{ "type": "commonjs" }\n');
