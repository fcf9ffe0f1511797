// @ts-check
// The page cache: scenarios that show it at work, and what the article says of storage next to what the engine says.

import { html } from "htm/preact";
import { addressOf } from "../common/addresses.js";
import { bytes } from "../common/format.js";
import { language, t } from "../common/i18n.js";
import { useAnswer } from "../common/server/answer.js";
import { knownStores, VIEW_NAMES, views } from "./laboratory.js";
import { figuresOf } from "./summary.js";
import { Panel } from "../parts/panel/panel.js";
import { ScrollingTable } from "../parts/panel/table.js";

const ARTICLE = "/tutorials/articles/mq-overview";

/** What the article claims, where on these pages one sees what is true of it, and its row at ARTICLE. */
const CLAIMS = [
  ["sequential", "#disk", "B64"],
  ["one_to_one", "/lab/page-cache", "B67"],
  ["cold", "/lab/cold-reader", "B68"],
  ["zero_copy", "#disk", "B70"],
  ["file_names", "#files", "B84"],
  ["every_few_messages", "#files", "B89"],
  ["dense_index", "#find", "B87"],
  ["many_topics", "#grow", "B86"],
  ["batches", "#files", "B66"],
];

export function PageCache() {
  return html`
    <${Panel} name="cache" kind="storage-cache" title=${t("storage.cache")} hint=${t("storage.cache.text")}>
      <${Scenarios} />
    </${Panel}>
    <${Panel} name="claims" kind="claims" title=${t("storage.claims")} hint=${t("storage.claims.text")}>
      <${Claims} />
    </${Panel}>
  `;
}

function Scenarios() {
  const { answer, why } = useAnswer("/api/storage/scenarios");
  /** @type {Picture.ScenarioRow[]} */
  const scenarios = answer?.scenarios ?? [];
  if (why) return html`<p class="problem" role="alert">${why}</p>`;
  return html`<ul class="cache-cards">
    ${scenarios.map(
      (scenario) => html`<li key=${scenario.name} class="panel cache-card linked-card">
        ${Object.entries(scenario.pictures).map(
          ([theme, path]) => html`<img
            key=${theme}
            class=${`in-${theme}`}
            src=${addressOf(path)}
            width="480"
            height="300"
            loading="lazy"
            alt=${scenario.shows[language]}
          />`,
        )}
        <h3><a class="cover-link" href=${`/lab/${scenario.name}`}>${scenario.title[language]}</a></h3>
        <p>${scenario.summary[language]}</p>
      </li>`,
    )}
  </ul>`;
}

function Claims() {
  const values = claimValues();
  const columns = ["storage.claims.article", "storage.claims.engine", "storage.claims.see"];
  return html`<${ScrollingTable} of="claims" columns=${columns}>
    ${CLAIMS.map(
      ([name, place, row]) => html`<tr key=${name}>
        <td>${t(`storage.claim.${name}.article`)} <a href=${`${ARTICLE}#${row.toLowerCase()}`}>${row}</a></td>
        <td>${t(`storage.claim.${name}.engine`, values)}</td>
        <td>${isHere(place) ? html`<a href=${place}>${placeName(place)}</a>` : t("site.only_on_a_server")}</td>
      </tr>`,
    )}
  <//>`;
}

/** @param {string} place */
const isHere = (place) => !place.startsWith("#") || views.value.includes(place.slice(1));
/** @param {string} place */
const placeName = (place) => (place.startsWith("#") ? t(VIEW_NAMES[place.slice(1)]) : t("article.where.scenario"));

/** Figures of the traffic that is loaded. */
function claimValues() {
  const { traffic, sizes } = knownStores();
  const [rocketmq, kafka] = [figuresOf("rocketmq"), figuresOf("kafka")];
  return {
    ...traffic,
    ...sizes,
    rocketmq_index: bytes(rocketmq.index),
    kafka_index: bytes(kafka.index),
    rocketmq_messages: bytes(rocketmq.messages),
    kafka_messages: bytes(kafka.messages),
    rocketmq_files: rocketmq.files,
    kafka_files: kafka.files,
  };
}
