import { guarded } from "../support/routes.ts";
import { testGuards } from "./security.ts";

testGuards(guarded);
