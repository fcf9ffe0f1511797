// @ts-check
// The choices that every page has in its head: theme and language, and the menus there.

import { inLanguage } from "./addresses.js";
import { copyText } from "./viewer/clipboard.js";
import { allOf, elementOf, targetOf } from "./elements.js";
import { pageData } from "./page_data.js";

const theme = elementOf("theme-choice", HTMLSelectElement);
const showTheme = () => (theme.value = document.documentElement.dataset.themeChoice ?? "");
showTheme();
theme.addEventListener("change", () => window.glassmqTheme.choose(theme.value));
addEventListener("themechange", showTheme);

// A page that was exported into a file speaks the language that it was exported in.
const language = /** @type {HTMLSelectElement | null} */ (document.getElementById("language-choice"));
if (language) {
  language.value = pageData.language;
  language.addEventListener("change", () => {
    dispatchEvent(new Event("beforeleave"));
    location.assign(inLanguage(language.value));
  });
}

// What drops down from the head stands at its button, and goes when one of its links is followed within the page.
for (const drop of allOf(".drop")) {
  drop.addEventListener(
    "click",
    (event) => targetOf(event)?.closest("a") && drop.matches(":popover-open") && drop.hidePopover(),
  );
  drop.addEventListener("beforetoggle", (/** @type {ToggleEvent} */ event) => {
    const button = document.querySelector(`[popovertarget="${drop.id}"]`);
    if (event.newState !== "open" || !button) return;
    const { left, right } = button.getBoundingClientRect();
    const { clientWidth: width } = document.documentElement;
    drop.style.setProperty("--drop-left", left + right < width ? `${left}px` : "auto");
    drop.style.setProperty("--drop-right", left + right < width ? "auto" : `${width - right}px`);
  });
}

for (const button of allOf("[data-copy]")) {
  const { copy: source = "", copied = "", failed = "" } = button.dataset;
  button.addEventListener("click", async () => {
    const text = elementOf(source).textContent;
    const before = button.textContent;
    button.textContent = (await copyText(text)) ? copied : failed;
    setTimeout(() => (button.textContent = before), 2000);
  });
}
