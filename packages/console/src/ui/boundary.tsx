import { Component, type ComponentChildren } from "preact";
import { Problem } from "./feedback.tsx";
import { PageView } from "./page.tsx";

type Props = {
	/** The current path. When it changes, the error is cleared. */
	path: string;
	children: ComponentChildren;
};

/** Shows a message instead of a page that throws an error. */
export class Boundary extends Component<Props, { path: string; error?: unknown }> {
	override state = { path: this.props.path, error: undefined };

	static override getDerivedStateFromError = (error: unknown) => ({ error });

	static override getDerivedStateFromProps = ({ path }: Props, state: { path: string }) =>
		path === state.path ? null : { path, error: undefined };

	override componentDidCatch(error: unknown) {
		console.error(error);
	}

	override render() {
		const { error } = this.state;
		if (error === undefined) return this.props.children;
		return (
			<PageView title="Something went wrong">
				<p>This page has an error. Saved changes aren't lost.</p>
				<Problem error={error} retry={() => this.setState({ error: undefined })} />
			</PageView>
		);
	}
}
