// @ts-check
// What the broker has to say: its last hundred log lines, newest first.

import { html } from "htm/preact";
import { useComputed, useSignal } from "@preact/signals";
import { dateTime } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { useHold } from "../../hold.js";
import { loaded, state } from "../../../common/cluster/view.js";
import { Empty } from "../../../parts/lane/marks.js";
import { Panel } from "../../../parts/panel/panel.js";
import { Segmented } from "../../../parts/controls/choices.js";

const LEVELS = ["all", "WARNING", "ERROR"];
const RANK = { DEBUG: 0, INFO: 1, WARNING: 2, ERROR: 3, CRITICAL: 4 };

export function Log() {
  const least = useSignal("all");
  const lines = useComputed(() => state.value.log);
  const { value: all, isHeld, handlers } = useHold(lines.value);
  const shown = all.filter((line) => least.value === "all" || (RANK[line.level] ?? 1) >= RANK[least.value]);
  const head = html`<${Segmented}
      name="log-level"
      legend=${t("live.log.level")}
      options=${LEVELS.map((level) => [level, t(`live.log.level_${level}`)])}
      chosen=${least.value}
      choose=${(level) => (least.value = level)}
    />
    ${isHeld && html`<span class="badge">${t("live.held")}</span>`}`;
  return html`<${Panel} id="log" title=${t("live.log.title")} head=${head}>
    <div class="log-lines" role="log" aria-live="off" tabindex="0" aria-labelledby="log-title" ...${handlers}>
      <ol role="list">
        ${shown.toReversed().map(
          (
            line,
            index,
          ) => html`<li key=${`${line.at_us} ${shown.length - index}`} class=${`log-line log-${line.level}`}>
            <time class="number quiet">${dateTime(line.at_us, true)}</time>
            <span class="log-level">${line.level}</span>
            <span class="log-text">${line.text}</span>
          </li>`,
        )}
      </ol>
    </div>
    ${loaded.value && shown.length === 0 && html`<${Empty} title=${t("live.log.none")} />`}
  </${Panel}>`;
}
