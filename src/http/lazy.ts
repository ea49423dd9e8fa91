/** Returns a function that makes a value when it is first called. Shapes that few requests need don't slow down the start. */
export function lazy<T extends object>(make: () => T) {
	let made: T | undefined;
	return () => {
		made ??= make();
		return made;
	};
}
