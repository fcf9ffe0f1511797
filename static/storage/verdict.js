// @ts-check
// The prediction next to what the run counted, and why it is so.

import { html } from "htm/preact";
import { count } from "../common/format.js";
import { t } from "../common/i18n.js";
import { judged } from "./judgement.js";
import { STORES } from "./laboratory.js";
import { Panel } from "../parts/panel/panel.js";
import { ScrollingTable } from "../parts/panel/table.js";

/** @type {("seeks" | "read_bytes")[]} */
export const FIGURES = ["seeks", "read_bytes"];
const COLUMNS = [
  "storage.store",
  "word.metric",
  ["lesson.result.you", "number"],
  ["storage.verdict.counted", "number"],
  "storage.verdict.judgement",
];

/** @param {Omit<import("./find.js").Search, "question"> & { by: string }} props */
export function Verdict({ result, prediction, by }) {
  return html`<${Panel} name="verdict" kind="find-verdict" title=${t("storage.verdict")}>
    <${ScrollingTable} of="verdict" columns=${COLUMNS}>
      ${STORES.flatMap((store) =>
        FIGURES.map(
          (figure) => html`<${Row}
            key=${`${store}.${figure}`}
            store=${store}
            figure=${figure}
            predicted=${Number(prediction[`${store}.${figure}`])}
            counted=${result[store].cost[figure]}
          />`,
        ),
      )}
    <//>
    <ul class="verdict-why">
      ${STORES.map(
        (store) => html`<li key=${store}>
          <strong>${t(`storage.store.${store}`)}</strong> ${t(`storage.verdict.why_${by}.${store}`, result[store].cost)}
        </li>`,
      )}
    </ul>
  </${Panel}>`;
}

/** @param {{ store: Picture.StoreName, figure: string, predicted: number, counted: number }} props */
function Row({ store, figure, predicted, counted }) {
  const judgement = judged(figure, predicted, counted);
  const isRight = ["exact", "close"].includes(judgement);
  const key = judgement === "exact" ? judgement : `${judgement}_${figure}`;
  return html`<tr>
    <th scope="row">${t(`storage.store.${store}`)}</th>
    <td>${t(`storage.find.predict_${figure}`)}</td>
    <td class="number">${count(predicted)}</td>
    <td class="number">${count(counted)}</td>
    <td class=${isRight ? "good-text" : "problem-text"}>
      <span aria-hidden="true">${isRight ? "✓" : "✕"}</span> ${t(`storage.verdict.${key}`)}
    </td>
  </tr>`;
}
