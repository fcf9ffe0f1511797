// @ts-check
// The prediction next to what the run counted, and why it is so.

import { html } from "htm/preact";
import { count } from "../common/format.js";
import { t } from "../common/i18n.js";
import { judged } from "./judgement.js";
import { STORES } from "./laboratory.js";
import { Heads } from "../parts/controls/heads.js";

const FIGURES = ["seeks", "bytes"];

export function Verdict({ result, prediction, by }) {
  return html`<section class="panel find-verdict" aria-labelledby="verdict-title">
    <header class="panel-head"><h2 class="panel-title" id="verdict-title">${t("storage.verdict")}</h2></header>
    <div class="table-scroll" tabindex="0" role="group" aria-labelledby="verdict-title">
      <table>
        <${Heads}
          columns=${[
            "storage.store",
            "word.metric",
            ["lesson.result.you", "number"],
            ["storage.verdict.counted", "number"],
            "storage.verdict.judgement",
          ]}
        />
        <tbody>
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
        </tbody>
      </table>
    </div>
    <ul class="verdict-why">
      ${STORES.map(
        (store) => html`<li key=${store}>
          <strong>${t(`storage.store.${store}`)}</strong> ${t(`storage.verdict.why_${by}.${store}`, result[store].cost)}
        </li>`,
      )}
    </ul>
  </section>`;
}

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
