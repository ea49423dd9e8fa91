import { QUICK } from "./conformance.ts";
import { testConformance } from "./conformance_tests.ts";

for (const type of QUICK) testConformance(type);
