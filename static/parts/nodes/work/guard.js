// @ts-check
// The idempotent listener of a consumer: its strategy, which is a switch, what it has counted over all processes, what
// it is working on, and the outcomes of the newest deliveries.

import { html } from "htm/preact";
import { count } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { acting } from "../../actions/thing.js";
import { memo } from "../../../common/memo.js";
import { pointing } from "../../../common/viewer/pointed.js";
import { Part, Rule } from "../part.js";
import { KeyRow, newest, Rows } from "../rows.js";
import { shortKey } from "./records.js";

/** Strategies that work; the others are for comparison. */
const SOUND = ["message-table", "state-table", "state-condition", "version"];
export const isSound = (strategy) => SOUND.includes(strategy);

/** Counters that are always shown; the others once they have happened. */
const ALWAYS = ["first", "swallowed", "bounced"];
const MOST_JUDGED = 3;

/** `part` is the view's: see app/lab/views/work_view.py. */
export const Guard = memo(
  ({ part, node }) => html`<${Part}
    part="idempotence"
    name=${t("lab.shelf.idempotence")} of=${node}
    class="guard"
    keepsOpen=${part.alarm !== null}
    summary=${html`<${Strategy} part=${part} node=${node} />`}
  >
    ${
      part.alarm &&
      html`<p class="guard-alarm">
        <span class="badge badge-bad">${t("lab.consumer.alarm")}</span>${" "}
        ${t("lab.consumer.alarm_hint", { key: part.alarm.key, times: part.alarm.deliveries })}
      </p>`
    }
    <dl class="guard-counts">
      ${Object.entries(part.counters)
        .filter(([name, n]) => n > 0 || ALWAYS.includes(name))
        .map((counted) => html`<${Counted} key=${counted[0]} of=${counted} />`)}
    </dl>
    <p class="rules"><${Rule} node=${node} part="idempotence" label=${t("lab.guard.expiry")} /></p>
    <${Rows}
      class="work-rows" label=${t("lab.guard.judged")}
      rows=${[
        ...part.under_way.map((key) => html`<${UnderWay} key=${`at ${key}`} of=${key} />`),
        ...newest(part.judged, MOST_JUDGED).map((one) => html`<${Judged} key=${judgedKey(one)} one=${one} />`),
      ]}
    />
  </${Part}>`,
);

const Counted = ({ of: [name, n] }) =>
  html`<div class=${`guard-count is-${name}`} title=${t(`lab.guard.count_${name}_hint`)}>
    <dt>${t(`lab.guard.word_${name}`)}</dt><dd class="number">${count(n)}</dd>
  </div>`;

const UnderWay = ({ of: key }) =>
  html`<li class="work-row is-running" ...${pointing(key)}>
    <span class="ellipsis">${shortKey(key)}</span><span class="work-verdict">${t("lab.guard.in_progress")}</span>
  </li>`;

/** The strategy as a button: a press offers all of them. */
function Strategy({ part, node }) {
  const { strategy, key, store } = part;
  const hint = t(`lab.guard.strategy_${strategy.replaceAll("-", "_")}`);
  return html`<button
      class=${`pill ${isSound(strategy) ? "is-free" : "is-off"}`}
      ...${acting("guard", { node })}
      data-strategy=${strategy}
      title=${`${strategy}: ${hint}`}
    >
      ${strategy}
    </button>
    <span class="quiet guard-key" title=${t("lab.guard.key_hint")}>
      ${key.replace("property:", "")}${store ? ` → ${store}` : ""}
    </span>`;
}

const judgedKey = (one) => `${one.time_us} ${one.key}`;

/** @param {{ one: Picture.Judged }} props */
function Judged({ one }) {
  const verdict = one.verdict.replaceAll("-", "_");
  return html`<${KeyRow}
    of=${one.key} class=${`work-row verdict-${one.verdict}`} data-judged=${one.key}
    title=${t(`lab.guard.verdict_${verdict}_hint`, one)}
  >
    <span class="ellipsis">${one.key}</span><span class="work-verdict">${t(`lab.guard.word_${verdict}`)}</span>
  </${KeyRow}>`;
}
