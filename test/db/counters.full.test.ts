import { testCounters } from "./counters.ts";

testCounters(3);
