/** Measures the CPU time of processes, as Linux counts it. */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** /proc/<pid>/stat counts in clock ticks of 10 ms. */
const TICKS_PER_SECOND = 100;

/**
 * Its two times are rounded down separately, so their sum can be this much less than that of the
 * threads.
 */
const ROUNDING_SECONDS = 2 / TICKS_PER_SECOND;

/**
 * A running process. `seconds` is its CPU time, `children` the CPU time of its children that have
 * ended.
 */
type Process = {
	pid: number;
	name: string;
	parent: number;
	group: number;
	seconds: number;
	children: number;
};

/**
 * Returns the CPU time of a process's current threads in seconds, to the nanosecond; 0 if the
 * kernel doesn't count it.
 */
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

/**
 * Returns the CPU time of a process: the exact time of its threads, unless its stat includes the
 * time of threads that have ended.
 */
const secondsOf = (threads: number, stat: number) =>
	stat - threads > ROUNDING_SECONDS ? stat : threads;

/** Reads a process from /proc (proc_pid_stat(5)). Returns null if it has ended. */
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

const processes = () =>
	readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.flatMap((pid) => statOf(Number(pid)) ?? []);

/** Returns the CPU time that the matching processes have used so far, in seconds. */
export const cpuOf = (matches: (process: Process) => boolean) =>
	processes()
		.filter(matches)
		.reduce((sum, { seconds, children }) => sum + seconds + children, 0);

/** Returns the ids of the workerd processes that a process has started. */
export const workersOf = (parent: number) =>
	processes()
		.filter((process) => process.parent === parent && process.name === "workerd")
		.map(({ pid }) => pid);

/**
 * Runs a Bash command with arguments and additional environment variables, and waits until it ends.
 * @returns the CPU time of the command and all its child processes, in seconds
 * @throws if the command fails
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
