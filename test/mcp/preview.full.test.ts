import { guarded } from "../support/routes.ts";
import { testPreviews } from "./preview.ts";

testPreviews(guarded.filter(({ method }) => method !== "GET"));
