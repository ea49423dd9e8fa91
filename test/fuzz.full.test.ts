import { testRandomInput } from "./fuzz/requests.ts";
import { operations } from "./support/contract.ts";

testRandomInput(operations, 10);
