// @ts-check
// The first line of the page: how the broker is, in words. Each clause leads to the panel that says more; the rules
// behind them, with their thresholds, open in a dialog.

import { html } from "htm/preact";
import { useComputed, useSignal } from "@preact/signals";
import { clockTime } from "../../../common/format.js";
import { language, t } from "../../../common/i18n.js";
import { chosenGroup } from "../../../common/cluster/selection.js";
import { absent, loaded, state } from "../../../common/cluster/view.js";
import { Thresholds } from "./thresholds.js";
import { Button } from "../../../parts/controls/button.js";

/** The space before a unit, at which no line may break. */
const UNIT = /(?<=\d) (?=(?:s|min|h|ms|MB|%|秒|分钟|小时|条)(?!\p{L}))/gu;
const UNKNOWN = { level: "unknown", text: {}, clauses: [], omitted: 0 };

const LEVELS = { crashed: "broken", paused: "warning", lost: "warning" };

/** Why the process has no broker: what its member is in the group. */
function absence(told) {
  if (!told) return null;
  const why = told.why?.[language] ?? "";
  if (told.standing === "joining" || told.standing === "stopped")
    return t(`live.absent.${told.standing}`, { ...told, why });
  return t(`live.absent.${told.leader ? "follows" : "leaderless"}`, told);
}

/** `gone`: why nothing new can come, and since when (overview.js), or null. */
export function Verdict({ gone }) {
  const verdict = useComputed(() => state.value.verdict ?? UNKNOWN);
  const isOpen = useSignal(false);
  const { level, text, clauses, omitted } = absent.value ? UNKNOWN : verdict.value;
  const n = clauses.length + omitted + (gone ? 1 : 0);
  const shown = gone ? LEVELS[gone.why] : level;
  return html`<section class="verdict" id="verdict" data-level=${shown} aria-labelledby="verdict-title">
    <h2 class="sr-only" id="verdict-title">${t("live.verdict.title")}</h2>
    <span class="verdict-sign" aria-hidden="true"></span>
    <p class="sr-only" role="status">${n === 0 ? t("live.verdict.none") : t("live.verdict.some", { n })}</p>
    ${
      n === 0
        ? html`<p class="verdict-words">${absence(absent.value) ?? text[language] ?? t("live.waiting")}</p>`
        : html`<ul class="verdict-words" role="list" tabindex="0" aria-labelledby="verdict-title">
          ${gone && html`<${Standstill} ...${gone} />`}
          ${clauses.map((clause) => html`<${Clause} key=${`${clause.rule} ${clause.subject}`} ...${clause} />`)}
          ${omitted > 0 && html`<li class="quiet">${t("word.more", { n: omitted })}</li>`}
        </ul>`
    }
    <${Button} class="button verdict-rules" opens=${isOpen} title=${t("live.verdict.rules_hint")}>
      ${t("word.rules")}
    </${Button}>
    <${Thresholds} isOpen=${isOpen.value} onClose=${() => (isOpen.value = false)} />
  </section>`;
}

function Standstill({ why, name, since_us: sinceUs }) {
  return html`
    <li class="verdict-standstill" data-rule=${why}>
      <strong>${t(`live.gone.${why}`, { name, time: clockTime(sinceUs) })}</strong>
    </li>
    ${loaded.value && html`<li>${t("live.gone.figures")}</li>`}
  `;
}

function Clause({ rule, level, panel, group, text }) {
  const choose = () => group && (chosenGroup.value = group);
  return html`<li data-rule=${rule} data-level=${level}>
    <a href=${`#${panel}`} onClick=${choose} title=${t("word.go_to", { name: panelName(panel) })}>
      ${text[language].replaceAll(UNIT, "\u00a0")}
    </a>
  </li>`;
}

const panelName = (panel) => t(`section.${panel.replaceAll("-", "_")}`);
