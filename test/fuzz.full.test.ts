import { testRandomInput } from "./fuzz.ts";
import { operations } from "./support/contract.ts";

testRandomInput(operations, 10);
