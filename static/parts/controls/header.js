// @ts-check
// The head of the page: the scenario, the state of the connection, what is chosen there.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { bilingual } from "../../common/world/format.js";
import { loaded, sequence, status, view } from "../../common/world/view.js";
import { ExpertSwitch } from "./dock.js";
import { Share } from "./share.js";
import { Comparison } from "./comparison.js";
import { KeysButton, MotionToggle } from "./view_buttons.js";

export function Title() {
  const title = useComputed(() => bilingual(view.value.title) || view.value.scenario);
  const about = useComputed(() => bilingual(view.value.about));
  const seed = useComputed(() => view.value.seed);
  const viewers = useComputed(() => view.value.world.published && (view.value.world.viewers ?? 1));
  return html`<div class="scenario-title">
    <h1 class="ellipsis" title=${about.value}>${title.value || t("lab.title")}</h1>
    ${
      loaded.value &&
      seed.value !== null &&
      html`<span class="quiet number scenario-seed" title=${t("lab.seed_hint")}>
        ${t("lab.seed", { seed: String(seed.value) })}
      </span>`
    }
    ${viewers.value && html`<span class="badge">${t("lab.published", { n: viewers.value })}</span>`}
  </div>`;
}

export function Connection() {
  const shown = status.value;
  return html`<div
    class=${`connection connection-${shown}`}
    id="connection"
    data-status=${shown}
    data-sequence=${sequence.value ?? ""}
    title=${t(`lab.status_hint.${shown}`)}
  >
    <span class="connection-sign" aria-hidden="true"></span>
    <span class="connection-text" role="status">
      ${t(shown === "recording" ? "lab.recording" : `connection.${shown}`)}
    </span>
  </div>`;
}

export const Choices = () => html`<${Comparison} /><${Share} /><${ExpertSwitch} /><${MotionToggle} /><${KeysButton} />`;
