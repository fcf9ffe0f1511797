// @ts-check
// The storage laboratory: one traffic in RocketMQ's store and in Kafka's, the contents of their files, what it costs to
// find a message, how both grow, what this machine's disk does.

import { html, render } from "htm/preact";
import "../common/chrome.js";
import "../common/viewer/motion.js";
import { elementOf } from "../common/elements.js";
import { t } from "../common/i18n.js";
import { Files } from "./files.js";
import { Find } from "./find.js";
import { isBusy, loadFirst, refusal, stores, view, VIEW_NAMES, views } from "./laboratory.js";
import { PageCache } from "./page_cache.js";
import { Run } from "./run.js";
import { Summary } from "./summary.js";
import { TrafficForm } from "./traffic_form.js";

/** @type {Record<string, () => any>} */
const BODIES = { files: Files, find: Find, grow: RunOf, disk: RunOf, cache: PageCache };

function RunOf() {
  return html`<${Run} key=${view.value} kind=${view.value} />`;
}

function Page() {
  if (stores.value === null)
    return refusal.value
      ? html`<p class="problem" role="alert">${refusal.value}</p>`
      : html`<p class="loading">${t("storage.loading")}</p>`;
  const Body = BODIES[view.value];
  const needsTraffic = view.value === "files" || view.value === "find";
  return html`
    <nav class="storage-views" aria-label="${t("storage.views")}">
      ${views.value.map(
        (name) => html`<a key=${name} href="#${name}" aria-current=${view.value === name ? "true" : null}>
          ${t(VIEW_NAMES[name])}
        </a>`,
      )}
    </nav>
    ${needsTraffic && html`<${TrafficForm} /><${Summary} />`}
    ${Body && html`<${Body} />`}
    <p class="sr-only" role="status">${isBusy.value ? t("storage.building") : ""}</p>
  `;
}

const place = elementOf("storage-place");
place.replaceChildren();
render(html`<${Page} />`, place);
await loadFirst();
