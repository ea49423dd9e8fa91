/** Closes the table of contents when one of its links is opened, if it is a menu. */
const contents = document.getElementById("contents");
contents?.addEventListener("click", () => contents.hidePopover());
