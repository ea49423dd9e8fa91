/** Events as the fire test posts them. */
import type { Random } from "../../test/support/random.ts";

/** An event. `properties` and `person_properties` are JSON text. */
export type Event = {
	uuid: string;
	event: string;
	distinct_id: string;
	person_id: string | null;
	properties: string;
	person_properties: string | null;
	elements_chain: string;
	timestamp: string;
};

const OUT_OF_TIME = 0.13;

const YEAR_MS = 365.25 * 86_400_000;

/** JSON texts of values that a faulty export could easily change. */
const EDGES = [
	"9007199254740993",
	"-9007199254740993",
	"1234567890123456789",
	"18446744073709551616",
	"1e300",
	"1.7976931348623157e308",
	"5e-324",
	"-0",
	"1.10",
	"0.1000000000000000055511151231257827",
	'""',
	"null",
	"true",
	"[]",
	"{}",
	"[[[[[[[[[[1]]]]]]]]]]",
	'{"__proto__":1,"":2," ":3}',
	'"вход 登录 دخول ログイン 🎉👩‍👩‍👧"',
	'"\u2028 \\\\ \\" \\n \\t \\u0001 \\\\N ,; \'"',
] as const;

const NAMES = [
	"$pageview",
	"$autocapture",
	"signed up",
	"paid, twice",
	'quote " and \\',
	"вход",
	"登录",
	"دخول 🎉",
	"'; drop table events; --",
] as const;

const EDGE_TIMES = [
	"1900-01-01T00:00:00.000Z",
	"1970-01-01T00:00:00.000Z",
	"2000-02-29T23:59:59.999Z",
	"9999-12-31T23:59:59.999Z",
] as const;

function timeOf(random: Random) {
	const now = Date.now();
	if (!random.chance(OUT_OF_TIME)) return new Date(now).toISOString();
	if (random.chance(0.1)) return random.pick(EDGE_TIMES);
	const years = random.between(0.1, 40) * random.pick([-1, 1]);
	return new Date(now + years * YEAR_MS).toISOString();
}

function propertiesOf(random: Random) {
	if (random.chance(0.05)) return "{}";
	const long = random.chance(0.01) ? random.hex(random.integer(1, 10_000)) : "";
	const fields = [
		`"n":${random.integer(0, 1_000_000)}`,
		`"price":${random.integer(0, 99_999) / 100}`,
		`"path":${JSON.stringify(`/page/${random.integer(0, 500)}`)}`,
		`"token":${JSON.stringify(random.hex(random.integer(8, 60)))}`,
		...(random.chance(0.3) ? [`"edge":${random.pick(EDGES)}`] : []),
		...(long ? [`"long":"${long}"`] : []),
	];
	return `{${fields.join(",")}}`;
}

export function eventOf(random: Random): Event {
	return {
		uuid: random.uuid(),
		event: random.chance(0.01) ? "登".repeat(400) : random.pick(NAMES),
		distinct_id: random.pick([
			`visitor-${random.integer(0, 5000)}`,
			`посетитель ${random.integer(0, 50)}`,
		]),
		person_id: random.chance(0.1) ? random.uuid() : null,
		properties: propertiesOf(random),
		person_properties: random.chance(0.05) ? `{"plan":"free","id":${random.pick(EDGES)}}` : null,
		elements_chain: random.chance(0.1) ? `button.primary:text="${random.hex(20)}";div` : "",
		timestamp: timeOf(random),
	};
}

/** The event as JSON, with its properties unchanged. */
export const toJson = ({ properties, person_properties, ...rest }: Event) =>
	`${JSON.stringify(rest).slice(0, -1)},"properties":${properties},"person_properties":${person_properties}}`;
