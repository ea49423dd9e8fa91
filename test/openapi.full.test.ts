import { testDocument } from "./openapi.ts";
import { operations } from "./support/contract.ts";

testDocument(operations);
