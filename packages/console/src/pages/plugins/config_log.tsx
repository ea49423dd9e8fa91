import { api } from "../../session.ts";
import { Section } from "../../ui/page.tsx";
import { ConfigView, useConfig, useIds } from "./config_view.tsx";
import { useLog } from "./follow.ts";
import { JobForm } from "./job_form.tsx";
import { Log, useLogFilters } from "./log.tsx";
import { jobsOf, pluginIn } from "./schema.ts";

export default function ConfigLog() {
	const ids = useIds();
	const log = useLog(ids, useLogFilters());
	return (
		<ConfigView of={useConfig()} tab="/log">
			{(config) => {
				const plugin = pluginIn(config);
				const jobs = jobsOf(plugin);
				const tasks = plugin.capabilities.scheduled_tasks;
				return (
					<div class="jobs-and-log">
						<Section title="Start job">
							<div class="panel">
								{jobs.length > 0 ? (
									<JobForm
										jobs={jobs}
										onStart={async (type, payload) => {
											await api.pluginConfigs.startJob(
												{ project: config.team_id, id: config.id },
												{ job: { type, payload } },
											);
											log.setFollowing(true);
											log.expect();
										}}
									/>
								) : (
									<p>This plugin has no jobs to start.</p>
								)}
								{tasks.length > 0 && (
									<p class="hint">
										{config.enabled
											? "Scheduled tasks: "
											: "Scheduled tasks, after you enable it: "}
										{tasks.map((task) => (
											<code key={task}>{task}</code>
										))}
									</p>
								)}
							</div>
						</Section>
						<Section title="Log">
							<Log log={log} />
						</Section>
					</div>
				);
			}}
		</ConfigView>
	);
}
