// @ts-check
// A tab on every page while faults are active in the running engine: which ones, and the button that ends them. It
// stands at the window's foot, over nothing that a page says first, and moves nothing.

import { html, render } from "htm/preact";
import { useSignal } from "@preact/signals";
import { brokenWords, Revive } from "./fault_words.js";
import { faults, look, removeAll } from "./faults.js";
import { t } from "./i18n.js";

function Banner() {
  const isFolded = useSignal(false);
  if (!faults.value.is_active) return null;
  const words = brokenWords().join(t("text.list_separator"));
  return html`<aside class=${`fault-banner ${isFolded.value ? "is-folded" : ""}`} aria-label=${t("faults.banner")}>
    <button
      type="button"
      class="fault-sign"
      aria-expanded=${!isFolded.value}
      aria-label=${t("faults.banner")}
      title=${words}
      onClick=${() => (isFolded.value = !isFolded.value)}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true"><path d="M9.5 0L3 9H7.2L6 16L13 6.4H8.6Z" /></svg>
    </button>
    ${
      !isFolded.value &&
      html`
        <p class="fault-words" role="status" title=${words}>${words}</p>
        <${Revive} />
        <a class="button" href="/live#faults">${t("word.show")}</a>
        <button type="button" class="button" data-remove-all onClick=${removeAll}>${t("faults.remove_all")}</button>
      `
    }
  </aside>`;
}

// Within another page's frame that page has the banner.
if (window.top === window) {
  const place = document.createElement("div");
  document.body.append(place);
  render(html`<${Banner} />`, place);
  look();
}
