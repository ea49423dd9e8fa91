/** Adds a button to each block of code that copies it. Only where the browser allows it (HTTPS). */
const COPIED_MS = 2000;

function buttonFor(code) {
	const button = document.createElement("button");
	button.type = "button";
	button.className = "copy";
	button.textContent = "Copy";
	button.addEventListener("click", async () => {
		await navigator.clipboard.writeText(code.textContent.replace(/\n$/, ""));
		button.textContent = "Copied";
		setTimeout(() => {
			button.textContent = "Copy";
		}, COPIED_MS);
	});
	return button;
}

if (navigator.clipboard)
	for (const block of document.querySelectorAll("main .code")) {
		const frame = document.createElement("div");
		frame.className = "copyable";
		block.replaceWith(frame);
		frame.append(block, buttonFor(block.querySelector("code")));
	}
