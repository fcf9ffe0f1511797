// @ts-check
// Frames that wait at the broker: a stack in the order in which they came, and the chosen one in full. While
// somebody looks, their lease is renewed; who looks away lets them go on after a time that is shown.

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { faults, isHolding, lost, passAll, renewLease } from "../../common/faults.js";
import { count, span } from "../../common/format.js";
import { language, t } from "../../common/i18n.js";
import { Button } from "../../parts/controls/button.js";
import { Bar } from "../../parts/lane/bar.js";
import { HeldFrame } from "./held_frame.js";

const RENEW_MS = 10_000;
const TICK_MS = 250;

export function Held() {
  const chosen = useSignal(/** @type {number | null} */ (null));
  const now = useSignal(performance.now());
  useEffect(() => {
    const renew = () => isHolding.peek() && !document.hidden && !faults.peek().paused_ms && renewLease();
    const timers = [setInterval(renew, RENEW_MS), setInterval(() => (now.value = performance.now()), TICK_MS)];
    renew();
    return () => timers.forEach(clearInterval);
  }, []);
  const { held, held_count: all, lease_ms: lease, at } = faults.value;
  const since = Math.max(0, now.value - at);
  const open = held.find(({ id }) => id === chosen.value) ?? held[0];
  return html`<div class="held">
    <header class="held-head">
      <h3 id="held-title">${t("faults.held")} <span class="quiet number">${count(all)}</span></h3>
      <span class="quiet" title=${t("faults.lease_hint")}>
        ${isHolding.value && t("faults.lease", { time: span(Math.max(0, (lease ?? 0) - since)) })}
      </span>
      <${Button} class="button row-button" data-pass-all onClick=${passAll}>${t("faults.pass_all")}</${Button}>
    </header>
    <p class="held-lost" role="status">
      ${lost.value && t("faults.lost", { name: lost.value.name, client: lost.value.client_name || lost.value.client })}
    </p>
    ${
      held.length === 0 &&
      html`<p class="held-empty quiet">${t(isHolding.value ? "faults.waiting" : "faults.spent_hold")}</p>`
    }
    <ol class="held-stack" role="list" aria-labelledby="held-title">
      ${held.map(
        (frame) =>
          html`<li key=${frame.id}>
            <${Button}
              class="held-frame" data-held=${frame.id} aria-current=${frame === open}
              onClick=${() => (chosen.value = frame.id)}
            >
              <span class=${`frames-arrow way-${frame.direction}`} aria-hidden="true"></span>
              <code>${frame.name}</code>
              <span class="held-meaning">${frame.meaning[language]}</span>
              <${Patience} frame=${frame} since=${since} />
            </${Button}>
          </li>`,
      )}
      ${all > held.length && html`<li class="quiet">${t("faults.more_held", { n: all - held.length })}</li>`}
    </ol>
    ${open && html`<${HeldFrame} key=${open.id} frame=${open} />`}
  </div>`;
}

/** How much longer its client waits for the answer: a guess by the default of RocketMQ's clients. */
function Patience({ frame, since }) {
  const { timeout_ms: timeout, waiting_ms: waiting } = frame;
  if (timeout === null) return html`<span class="held-patience quiet">${t("faults.nobody_waits")}</span>`;
  const left = timeout - waiting - since;
  return html`<span class=${`held-patience ${left > 0 ? "" : "is-late"}`} title=${t("faults.timeout_hint")}>
    <${Bar} left=${left} whole=${timeout} />
    <span class="number">${left > 0 ? t("faults.waits", { time: span(left) }) : t("faults.waits_no_more")}</span>
  </span>`;
}
