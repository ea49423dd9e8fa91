import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Short files that take long. Vitest starts each project's largest files first, so these would run alone at the end. */
const LONG = [
	"test/scripts/fire_webhooks.test.ts",
	"test/scripts/export.test.ts",
	"test/scripts/docs.test.ts",
	"test/scripts/deploy.test.ts",
	"test/scripts/setup.test.ts",
	"test/scripts/admin.test.ts",
	"packages/client/test/generators.test.ts",
	"packages/client/test/retries.test.ts",
	"test/exports/engine/destinations/files.test.ts",
	"test/auth/security.test.ts",
	"test/fuzz.test.ts",
	"test/openapi.test.ts",
	"test/http/etag.test.ts",
];

/** Starts each project's long files first. */
export class LongestFirst extends BaseSequencer {
	override async sort(files: TestSpecification[]) {
		const sorted = await super.sort(files);
		const projects = new Set(sorted.map(({ project }) => project));
		const isLong = ({ moduleId }: TestSpecification) =>
			LONG.includes(relative(this.ctx.config.root, moduleId));
		return [...projects].flatMap((project) => {
			const own = sorted.filter((file) => file.project === project);
			return [...own.filter(isLong), ...own.filter((file) => !isLong(file))];
		});
	}
}
