import { objects, testParallelDeletes } from "./races.ts";

testParallelDeletes(objects, 20);
