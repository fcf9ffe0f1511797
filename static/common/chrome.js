// The choices that every page has in its head: theme and language, and the menus there.

import { inLanguage } from "./addresses.js";
import { pageData } from "./page_data.js";

const theme = document.getElementById("theme-choice");
theme.value = document.documentElement.dataset.themeChoice;
theme.addEventListener("change", () => window.glassmqTheme.choose(theme.value));
addEventListener("themechange", () => (theme.value = document.documentElement.dataset.themeChoice));

// A page that was exported into a file speaks the language that it was exported in.
const language = document.getElementById("language-choice");
if (language) language.value = pageData.language;
language?.addEventListener("change", () => {
  dispatchEvent(new Event("beforelanguagechange"));
  location.assign(inLanguage(language.value));
});

// What drops down from the head stands at its button, and goes when one of its links is followed within the page.
for (const drop of document.querySelectorAll(".drop")) {
  drop.addEventListener(
    "click",
    (event) => event.target.closest("a") && drop.matches(":popover-open") && drop.hidePopover(),
  );
  drop.addEventListener("beforetoggle", (event) => {
    if (event.newState !== "open") return;
    const { left, right } = document.querySelector(`[popovertarget="${drop.id}"]`).getBoundingClientRect();
    const { clientWidth: width } = document.documentElement;
    drop.style.setProperty("--drop-left", left + right < width ? `${left}px` : "auto");
    drop.style.setProperty("--drop-right", left + right < width ? "auto" : `${width - right}px`);
  });
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copy).textContent;
    const before = button.textContent;
    button.textContent = (await copy(text)) ? button.dataset.copied : button.dataset.failed;
    setTimeout(() => (button.textContent = before), 2000);
  });
}

/** False where the browser has no clipboard for us: a page that came by plain http from another machine. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
