/** Closes the table of contents, where it is a menu, when one of its links is followed. */
const contents = document.getElementById("contents");
contents?.addEventListener("click", () => contents.hidePopover());
