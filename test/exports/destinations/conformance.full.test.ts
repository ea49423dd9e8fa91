import { OTHERS } from "./conformance.ts";
import { testConformance } from "./conformance_tests.ts";

for (const type of OTHERS) testConformance(type);
