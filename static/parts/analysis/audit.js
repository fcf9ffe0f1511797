// @ts-check
// The audit of this run by Spark: what it would look at, or what is missing for it; then where it can be watched.

import { html } from "htm/preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { signal } from "@preact/signals";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { useFound } from "../../common/viewer/sight.js";
import { bilingual } from "../../common/world/format.js";
import { isRecording, pause, run } from "../../common/world/session.js";
import { mine, openSetting, view } from "../../common/world/view.js";
import { Button } from "../controls/button.js";
import { Dialog } from "../controls/dialog.js";
import { Icon } from "../controls/icons.js";

const isOpen = signal(false);
/**
 * @typedef {object} Begun An audit: where in which run, and how far it is.
 * @property {string} place
 * @property {number} event
 * @property {boolean} [isStarting]
 * @property {string} [address] The run on the pipeline's page.
 * @property {string} [failure]
 */

/** The audit begun last, whether the panel is open or not. */
const begun = signal(/** @type {Begun | null} */ (null));

/** The audit covers the run as it is shown. */
function open() {
  if (view.peek().playing) pause();
  isOpen.value = true;
}

/** A viewer of another user's world cannot stop it: there is nothing to audit before a fork. */
export function AuditButton() {
  if (isRecording() || !mine.value) return null;
  return html`<p class="audit-line">
    <${Button}
      class="button small-button" id="audit" aria-haspopup="dialog" title=${t("lab.audit.open_hint")} onClick=${open}
    >
      <${Icon} name="eye" /><span>${t("lab.audit.title")}</span>
    </${Button}>
  </p>`;
}

export function AuditDialog() {
  return html`<${Dialog}
    isOpen=${isOpen.value}
    onClose=${() => (isOpen.value = false)}
    id="audit-dialog"
    kind="small-dialog"
    title=${t("lab.audit.title")}
  >
    ${isOpen.value && html`<${Audit} />`}
  </${Dialog}>`;
}

/**
 * @param {string} place
 * @param {number} event
 */
async function start(place, event) {
  if (begun.peek()?.isStarting) return;
  begun.value = { place, event, isStarting: true };
  try {
    begun.value = { place, event, address: (await run.startAudit(event)).address };
  } catch (error) {
    begun.value = { place, event, failure: error.message };
  }
}

function Audit() {
  const { event, link, busy, playing } = view.value;
  // At another event, or after a command, it is another run. One that moves is examined when it stops.
  const place = playing || busy !== null ? null : `${event} ${link}`;
  const { found: plan, problem: failure } = useFound(place, run.auditPlan);
  const last = begun.value;
  const isHere = last?.place === place;
  const problem = failure ?? (isHere ? last?.failure : null);
  const canStart = plan && !plan.problem && !(isHere && last?.address);
  return html`<div class="audit">
    <p>${t("lab.audit.about", { event: count(event) })}</p>
    ${plan?.problem ? html`<${Problem} plan=${plan} />` : plan && html`<${Plan} plan=${plan} />`}
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    <div class="audit-end" aria-live="polite">
      ${
        canStart &&
        html`<${Button}
          class="button button-primary" id="audit-start" aria-disabled=${last?.isStarting ? "true" : null}
          onClick=${() => place !== null && start(place, event)}
        >
          <${Icon} name="play" /><span>${t("lab.audit.start")}</span>
        </${Button}>`
      }
      ${last?.isStarting && html`<p class="quiet">${t("lab.audit.replaying")}</p>`}
      ${
        last?.address &&
        html`
          <p>${t("lab.audit.started", { event: count(last.event) })}</p>
          <${RunLink} key=${last.address} address=${last.address} />
        `
      }
      ${!plan && !problem && html`<p class="quiet">${t("lab.audit.waiting")}</p>`}
    </div>
  </div>`;
}

/** The button that was pressed is gone: keyboard users continue from here. */
function RunLink({ address }) {
  const link = useRef(/** @type {HTMLAnchorElement | null} */ (null));
  useLayoutEffect(() => void (document.activeElement === document.body && link.current?.focus()), []);
  return html`<a class="button button-primary" id="audit-run" ref=${link} href=${address}>${t("lab.audit.see")}</a>`;
}

function Plan({ plan }) {
  const fact = (key, names) =>
    html`<div class="fact">
      <dt>${t(`lab.audit.${key}`)}</dt><dd>${names.length > 0 ? names.join(", ") : t("lab.audit.groups_none")}</dd>
    </div>`;
  return html`
    <dl class="facts">${fact("topics", plan.topics)}${fact("groups", plan.groups)}</dl>
    <${ToSet} text="silent" names=${plan.silent} setting="enable_msg_trace" />
    <p class="quiet">${t("lab.audit.now")}</p>
  `;
}

function Problem({ plan }) {
  return html`
    <p class="panel-note">${bilingual(plan.problem)}</p>
    <${ToSet} text="unnumbered" names=${plan.unnumbered} setting="number_messages" />
    <p class="quiet">${t("lab.audit.how")} <a href="/tutorials/15-auditing-with-spark">${t("lab.audit.lesson")}</a></p>
  `;
}

/** Nodes with a switch that prevents the audit: each leads to its editor. */
function ToSet({ text, names, setting }) {
  if (names.length === 0) return null;
  return html`<div class="audit-settings">
    <p>${t(`lab.audit.${text}`)}</p>
    <ul role="list">
      ${names.map(
        (node) => html`<li key=${node}>
          <${Button}
            class="button small-button" aria-haspopup="dialog"
            onClick=${() => (openSetting.value = { node, name: setting })}
          >
            <${Icon} name="edit" /><span>${node} <code>${setting}</code></span>
          </${Button}>
        </li>`,
      )}
    </ul>
  </div>`;
}
