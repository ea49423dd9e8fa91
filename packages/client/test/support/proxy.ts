/** A proxy that mistreats requests and responses, like a bad network. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

type Raw = { status: number; headers: [string, string][]; body: Buffer };
type Exchange = { request: IncomingMessage; response: ServerResponse; send: () => Promise<Raw> };

function write(response: ServerResponse, { status, headers, body }: Raw) {
	response.writeHead(status, headers.flat()).end(body);
}

/** What can happen to a request. */
const MISTREATMENTS = {
	/** It doesn't arrive. */
	dropRequest: async ({ request }) => {
		request.socket.destroy();
	},
	/** It arrives, but its answer doesn't. */
	dropAnswer: async ({ request, send }) => {
		await send();
		request.socket.destroy();
	},
	/** Half of its answer arrives. */
	cutAnswer: async ({ request, response, send }) => {
		const { status, headers, body } = await send();
		response.writeHead(status, [...headers, ["content-length", String(body.length)]].flat());
		response.write(body.subarray(0, body.length / 2));
		response.flushHeaders();
		await sleep(5);
		request.socket.destroy();
	},
	/** It arrives late. */
	delayRequest: async ({ response, send }) => {
		await sleep(Math.random() * 100);
		write(response, await send());
	},
	/** Its answer arrives late. */
	delayAnswer: async ({ response, send }) => {
		const raw = await send();
		await sleep(Math.random() * 100);
		write(response, raw);
	},
	/** It arrives twice at once; one of the answers comes through. */
	doubleRequest: async ({ request, response, send }) => {
		const both = await Promise.all([send(), send()]);
		const good = both.find(({ status }) => status < 300) ?? both[0];
		// A POST with an Idempotency-Key may get either; of others the second may be rejected rightly.
		write(response, request.method === "POST" && Math.random() < 0.5 ? both[1] : good);
	},
	/** Its answer arrives twice, so the connection can't be used any more. */
	doubleAnswer: async ({ request, response, send }) => {
		const raw = await send();
		const { socket } = request;
		const text = `HTTP/1.1 ${raw.status} Twice\r\n${raw.headers.map((pair) => pair.join(": ")).join("\r\n")}\r\ncontent-length: ${raw.body.length}\r\n\r\n`;
		response.detachSocket(socket);
		for (const _ of [1, 2]) socket.write(Buffer.concat([Buffer.from(text), raw.body]));
		socket.end();
	},
	/** It arrives, but something in between answers for the service. */
	hideAnswer: async ({ response, send }) => {
		await send();
		response.writeHead(502, { "content-type": "text/html" }).end("<h1>Bad gateway</h1>");
	},
	/** It is rejected for now. */
	refuse: async ({ response }) => {
		response.writeHead(503, { "retry-after": "0" }).end();
	},
	/** Nothing. */
	forward: async ({ response, send }) => write(response, await send()),
} satisfies Record<string, (exchange: Exchange) => Promise<void>>;

export type Mistreatment = keyof typeof MISTREATMENTS;

const isMistreatment = (name: string): name is Mistreatment => name in MISTREATMENTS;

export const ALL = Object.keys(MISTREATMENTS).filter(isMistreatment);

/** Headers that belong to a connection. */
const HOP_BY_HOP = [
	"connection",
	"keep-alive",
	"transfer-encoding",
	"content-length",
	"content-encoding",
];

async function forward(target: string, request: IncomingMessage, body: Buffer): Promise<Raw> {
	const headers = new Headers();
	for (const [name, value] of Object.entries(request.headers))
		if (typeof value === "string" && !HOP_BY_HOP.includes(name) && name !== "host")
			headers.set(name, value);
	const answer = await fetch(target + request.url, {
		method: request.method ?? "GET",
		headers,
		...(body.length > 0 && { body }),
	});
	return {
		status: answer.status,
		headers: [...answer.headers].filter(([name]) => !HOP_BY_HOP.includes(name)),
		body: Buffer.from(await answer.arrayBuffer()),
	};
}

/** A request as the proxy got it. */
type Seen = {
	method: string;
	url: string;
	headers: IncomingMessage["headers"];
	fate: Mistreatment;
};

/**
 * Starts a proxy in front of `target`.
 * @param decide what happens to a request; `n` counts them from 0
 */
export async function proxy(
	target: string,
	decide: (n: number, request: IncomingMessage) => Mistreatment,
) {
	const seen: Seen[] = [];
	const server = createServer((request, response) => {
		const fate = decide(seen.length, request);
		seen.push({
			method: request.method ?? "",
			url: request.url ?? "",
			headers: request.headers,
			fate,
		});
		request.toArray().then(
			async (chunks) => {
				const body = Buffer.concat(chunks);
				const send = () => forward(target, request, body);
				await MISTREATMENTS[fate]({ request, response, send }).catch(() =>
					request.socket.destroy(),
				);
			},
			() => request.socket.destroy(),
		);
	}).listen(0, "127.0.0.1");
	await once(server, "listening");
	const address = server.address();
	if (typeof address !== "object" || !address) throw new Error("The proxy has no port.");
	return {
		url: `http://127.0.0.1:${address.port}`,
		seen,
		async close() {
			server.closeAllConnections();
			server.close();
			await once(server, "close");
		},
	};
}
