/**
 * The subjects of tokens, which roles trust (docs/exports.md#without-stored-keys). Google allows 127
 * bytes. The console imports this file, too.
 */
type Export = { organization: string; project: number; id: string };

/** The subject of an export's tokens. */
export const exportSubject = ({ organization, project, id }: Export) =>
	`organization:${organization}:project:${project}:batch_export:${id}`;

type Stream = { organization: string; id: string };

/** The subject of an audit stream's tokens. */
export const streamSubject = ({ organization, id }: Stream) =>
	`organization:${organization}:audit_stream:${id}`;
