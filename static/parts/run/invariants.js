// @ts-check
// What must hold after every event: a check mark, or the element, the event and the reason. A click goes there.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { anomalyName, bilingual, virtualTime } from "../../common/world/format.js";
import { memo } from "../../common/memo.js";
import { scrub } from "../../common/world/session.js";
import { chosenEvent, view } from "../../common/world/view.js";
import { AuditButton } from "../analysis/audit.js";
import { WhyButton } from "../messages/why.js";
import { Button } from "../controls/button.js";
import { Icon } from "../controls/icons.js";

export function Invariants() {
  const list = useComputed(() => view.value.invariants);
  if (list.value.length === 0)
    return html`<p class="panel-empty quiet">${t("lab.invariants.none")}</p><${AuditButton} />`;
  const broken = list.value.filter((one) => !one.ok);
  const sound = list.value.filter((one) => one.ok);
  return html`
    <ul class="invariants" aria-live="polite">
      ${[...broken, ...sound].map((one) => html`<${Invariant} key=${one.name} invariant=${one} />`)}
    </ul>
    <${AuditButton} />
  `;
}

/** One invariant can be broken in more than one way: money from nowhere is a ghost read, or a duplicate. */
const anomaliesOf = ({ violations }) => [...new Set(violations.map(({ anomaly }) => anomaly))];

const Invariant = memo(
  ({ invariant }) => html`<li
    class=${`invariant ${invariant.ok ? "is-ok" : "is-broken"}`} data-invariant=${invariant.name}
  >
    <details open=${!invariant.ok}>
      <summary>
        <span class=${`verdict ${invariant.ok ? "" : "verdict-bad"}`}>
          <${Icon} name=${invariant.ok ? "check" : "cross"} />
          <span class="sr-only">${t(invariant.ok ? "lab.invariants.holds" : "lab.invariants.broken")}</span>
        </span>
        <span class=${invariant.ok ? "invariant-title" : "invariant-title-bad"}>${bilingual(invariant.title)}</span>
        ${anomaliesOf(invariant).map(
          (anomaly) => html` <span key=${anomaly} class="badge badge-bad">${anomalyName(anomaly)}</span>`,
        )}
      </summary>
      <p class="invariant-why quiet">${bilingual(invariant.why)}</p>
    </details>
    ${invariant.violations.map((violation, index) => html`<${BrokenHere} key=${index} violation=${violation} />`)}
  </li>`,
);

const BrokenHere = ({ violation }) => {
  const { event, time_us, element, messages, text } = violation;
  return html`<div class="violation-row">
    <${Button} class="violation" onClick=${() => jump(violation)} title=${t("lab.invariants.jump")}>
      <span class="violation-place">
        <span class="number">#${event}</span>${" "}
        <span class="number quiet">${virtualTime(time_us)} s</span>${" "}
        ${Object.values(element).map((name) => html`<span key=${name} class="chip">${name}</span>`)}
      </span>
      <span class="violation-text">${bilingual(text)}</span>
    </${Button}>
    ${messages.length > 0 && html`<${WhyButton} of=${messages[0]} group=${element.group} />`}
  </div>`;
};

/**
 * Shows the world at the event of the violation, and the element that broke.
 *
 * @param {Picture.Violation} violation
 */
function jump({ event, element }) {
  chosenEvent.value = event;
  scrub(event);
  const { queue = "", node = "" } = element;
  const place = queue && document.querySelector(`[data-queue="${CSS.escape(String(queue))}"]`);
  (place || document.querySelector(`[data-node="${CSS.escape(String(node))}"]`))?.scrollIntoView({ block: "nearest" });
}
