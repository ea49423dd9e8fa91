/** The pages of the API reference: searches the operations, and sends the requests of the forms. */
const key = document.getElementById("key");
key.value = sessionStorage.getItem("key") ?? "";
key.form.addEventListener("submit", (event) => event.preventDefault());
key.addEventListener("input", () => sessionStorage.setItem("key", key.value));

const search = document.getElementById("search");
search?.addEventListener("input", () => {
	const words = search.value.toLowerCase().split(/\s+/);
	for (const section of document.querySelectorAll(".operations")) {
		const tag = section.querySelector("h3").textContent;
		for (const item of section.querySelectorAll("li")) {
			const text = `${tag} ${item.textContent}`.toLowerCase();
			item.hidden = !words.every((word) => text.includes(word));
		}
		section.hidden = !section.querySelector("li:not([hidden])");
	}
	const isEmpty = !document.querySelector(".operations:not([hidden])");
	document.getElementById("none").textContent = isEmpty ? "No operation has these words." : "";
});

/** Returns the path of a form's request, with its parameters. */
function pathOf(form) {
	let path = form.dataset.path;
	const query = new URLSearchParams();
	for (const { name, value, dataset } of form.querySelectorAll("input")) {
		if (dataset.in === "path")
			path = path.replace(`{${name}}`, encodeURIComponent(value).replaceAll("%40", "@"));
		else if (value) query.append(name, value);
	}
	return query.size > 0 ? `${path}?${query}` : path;
}

/** Sends a form's request. Returns the status and the body, as text. */
async function send(form) {
	const headers = new Headers();
	if (key.value) headers.set("authorization", `Bearer ${key.value.trim()}`);
	const body = form.elements.namedItem("body")?.value;
	if (body) headers.set("content-type", form.dataset.type);
	const { method } = form.dataset;
	const response = await fetch(pathOf(form), { method, headers, ...(body && { body }) });
	const text = await response.text();
	const isJson = response.headers.get("content-type")?.startsWith("application/json");
	const shown = isJson && text ? JSON.stringify(JSON.parse(text), null, 2) : text;
	return `${response.status} ${response.statusText}\n${shown}`;
}

for (const form of document.querySelectorAll(".try form"))
	form.addEventListener("submit", async (event) => {
		event.preventDefault();
		const output = form.querySelector("output");
		output.textContent = "…";
		output.textContent = await send(form).catch((error) => `No response: ${error.message}`);
	});
