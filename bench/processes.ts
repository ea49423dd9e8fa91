/** CPU time of processes, as Linux counts it. */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** A process's stat counts in clock ticks of 10 ms. */
const TICKS_PER_SECOND = 100;

/** Its two times are each rounded down, so that it is this much behind what its threads say. */
const ROUNDING_SECONDS = 2 / TICKS_PER_SECOND;

/** A running process. `seconds`: its CPU time; `children`: that of its children that have ended. */
type Process = {
	pid: number;
	name: string;
	parent: number;
	group: number;
	seconds: number;
	children: number;
};

/** Seconds of CPU time of the threads that a process has now, to the nanosecond; 0 if the kernel doesn't count them. */
function secondsOfThreads(pid: number) {
	const nanoseconds = readdirSync(`/proc/${pid}/task`).map((thread) => {
		try {
			return Number.parseInt(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8"), 10);
		} catch {
			return 0;
		}
	});
	return nanoseconds.reduce((sum, each) => sum + each, 0) / 1e9;
}

/** The CPU time of a process: that of its threads, which is exact, unless its stat also has the time of threads that have ended. */
const secondsOf = (threads: number, stat: number) =>
	stat - threads > ROUNDING_SECONDS ? stat : threads;

/** What /proc says about a process (proc_pid_stat(5)); null if it has ended. */
function statOf(pid: number): Process | null {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
		const words = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
		const sum = (from: number) =>
			(Number(words[from]) + Number(words[from + 1])) / TICKS_PER_SECOND;
		return {
			pid,
			name: stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")")),
			parent: Number(words[1]),
			group: Number(words[2]),
			seconds: secondsOf(secondsOfThreads(pid), sum(11)),
			children: sum(13),
		};
	} catch {
		return null;
	}
}

/** All running processes. */
const processes = () =>
	readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.flatMap((pid) => statOf(Number(pid)) ?? []);

/** Seconds of CPU time that the matching processes have used so far. */
export const cpuOf = (matches: (process: Process) => boolean) =>
	processes()
		.filter(matches)
		.reduce((sum, { seconds, children }) => sum + seconds + children, 0);

/** The ids of the workerd processes that a process has started. */
export const workersOf = (parent: number) =>
	processes()
		.filter((process) => process.parent === parent && process.name === "workerd")
		.map(({ pid }) => pid);

/**
 * Runs a Bash command to its end, with these arguments and further environment variables.
 * @returns seconds of CPU time that it and all processes below it took
 */
export async function cpuOfCommand(
	command: string,
	args: string[],
	environment: Record<string, string> = {},
): Promise<number> {
	const before = statOf(process.pid)?.children ?? 0;
	const child = spawn("bash", ["-e", "-o", "pipefail", "-c", command, "bench", ...args], {
		env: { ...process.env, ...environment },
		stdio: ["ignore", "inherit", "inherit"],
	});
	const code = await new Promise((resolve) => child.once("exit", resolve));
	if (code !== 0) throw new Error(`Failed with exit code ${code}: ${command}`);
	return (statOf(process.pid)?.children ?? 0) - before;
}
