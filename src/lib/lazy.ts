/**
 * Returns a function that creates a value on its first call, so that schemas that few requests need
 * don't slow down the start.
 */
export function lazy<T extends object>(make: () => T) {
	let made: T | undefined;
	return () => {
		made ??= make();
		return made;
	};
}
