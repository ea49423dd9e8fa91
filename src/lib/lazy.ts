/** Creates a value on the first call, so that schemas don't slow down the start. */
export function lazy<T extends object>(make: () => T) {
	let made: T | undefined;
	return () => {
		made ??= make();
		return made;
	};
}
