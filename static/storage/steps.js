// @ts-check
// What one store read to find a message: each access, what is there, and what all so far cost.

import { html } from "htm/preact";
import { clockTime, count } from "../common/format.js";
import { t } from "../common/i18n.js";
import { knownStores, show } from "./laboratory.js";
import { unitText } from "./units.js";
import { Button } from "../parts/controls/button.js";

/** @param {{ store: Picture.StoreName, told: Picture.StoreSearch, by: string, shown: number }} props */
export function Steps({ store, told, by, shown }) {
  const steps = told.steps.slice(0, shown);
  const isWhole = shown >= told.steps.length;
  const title = `steps-${store}`;
  return html`<section class="steps" aria-labelledby=${title}>
    <h3 id=${title}>${t(`storage.store.${store}`)}</h3>
    <p class="quiet">${t(`storage.find.way_${by}.${store}`)}</p>
    <ol class="step-list">
      ${steps.map((step, index) => html`<${Step} key=${index} store=${store} step=${step} number=${index + 1} />`)}
    </ol>
    ${
      isWhole &&
      told.steps_omitted > 0 &&
      html`<p class="quiet">${t("storage.find.omitted", { n: told.steps_omitted })}</p>`
    }
    ${isWhole && html`<${Found} told=${told} />`}
    <p class="step-sum number">${sumOf(isWhole ? told.cost : costSoFar(steps))}</p>
  </section>`;
}

/** @param {{ store: Picture.StoreName, step: Picture.SearchStep, number: number }} props */
function Step({ store, step, number }) {
  return html`<li class="step">
    <span class="step-number number" aria-hidden="true">${number}</span>
    <div>
      <p>
        ${
          step.is_seek &&
          html`<span class="badge" title=${t("storage.find.seek_meaning")}>${t("storage.find.seek")}</span> `
        }
        <strong>${unitText(step)}</strong>
      </p>
      <p class="quiet">
        <${Button}
          class="link-button mono" title=${t("storage.find.open_file")}
          onClick=${() => show(store, step.path, step.position)}
        >
          ${step.path}
        </${Button}>
        ${" "}
        ${t("storage.find.read", { position: step.position, n: step.length })}
      </p>
      ${step.kind === "queue_entry" && html`<p class="quiet">${arithmetic(step)}</p>`}
    </div>
  </li>`;
}

/** How the place of a dense entry is known without a search.
    @param {Picture.SearchStep} step */
function arithmetic({ values, position }) {
  const size = knownStores().sizes.queue_entry_bytes;
  const product = Number(values.number) * size;
  return t("storage.find.arithmetic", {
    number: Number(values.number),
    size,
    product,
    position,
    start: product - position,
  });
}

/** @param {{ told: Picture.StoreSearch }} props */
function Found({ told }) {
  if (told.found_count === 0) return html`<p class="step-found">${t("word.nothing_found")}</p>`;
  return html`<p class="step-found">
    ${t("storage.find.found", { n: told.found_count })}${" "}
    ${told.found.map(
      (message) => html`<span key=${`${message.queue_id}@${message.offset}`} class="badge">
        ${t("storage.find.found_at", {
          queue: message.queue_id,
          offset: message.offset,
          key: message.key ?? "–",
          time: clockTime(message.stored_us, true),
        })}
      </span> `,
    )}
  </p>`;
}

/** @type {(steps: Picture.SearchStep[]) => Picture.SearchCost} */
const costSoFar = (steps) => ({
  seeks: steps.filter((step) => step.is_seek).length,
  reads: steps.length,
  read_bytes: steps.reduce((sum, step) => sum + step.length, 0),
  files: new Set(steps.map((step) => step.path)).size,
});

/** @param {Picture.SearchCost} cost */
const sumOf = (cost) =>
  t("storage.find.sum", {
    seeks: count(cost.seeks),
    reads: count(cost.reads),
    bytes: count(cost.read_bytes),
    files: count(cost.files),
  });
