// The audit of this run by Spark: what it would look at, or what is missing for it; then where it can be watched.

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { signal, useSignal } from "@preact/signals";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { bilingual } from "../format.js";
import { auditPlan, isRecording, pause, startAudit } from "../session.js";
import { mine, openSetting, view } from "../view.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icons.js";

const isOpen = signal(false);

/** What is audited is the run as it stands. */
function open() {
  if (mine.peek() && view.peek().playing) pause();
  isOpen.value = true;
}

export function AuditButton() {
  if (isRecording()) return null;
  return html`<p class="audit-line"><button type="button" class="button small-button" id="audit" aria-haspopup="dialog" title=${t("lab.audit.open_hint")} onClick=${open}>
    <${Icon} name="eye" /><span>${t("lab.audit.open")}</span></button></p>`;
}

export function AuditDialog() {
  return html`<${Dialog} isOpen=${isOpen.value} onClose=${() => (isOpen.value = false)} id="audit-dialog" kind="small-dialog" title=${t("lab.audit.title")}>
    ${isOpen.value && html`<${Audit} />`}</${Dialog}>`;
}

/** What is known of the audit: {text} of a failure, a `plan`, or the `address` where it runs. */
function Audit() {
  const plan = useSignal(null);
  const failure = useSignal(null);
  const isStarting = useSignal(false);
  const address = useSignal(null);
  const { event, settings, busy, playing } = view.value;
  const place = playing || busy !== null ? null : event;
  // At another event, or with another setting, it is another run. One that moves is looked at when it stands.
  useEffect(() => {
    if (place === null) return;
    failure.value = address.value = null;
    auditPlan().then((answer) => (plan.value = answer), (error) => (failure.value = error.message));
  }, [place, settings]);
  const start = async () => {
    isStarting.value = true;
    failure.value = null;
    try {
      address.value = (await startAudit()).address;
    } catch (error) {
      failure.value = error.message;
    }
    isStarting.value = false;
  };
  return html`<div class="audit"><p>${t("lab.audit.about", { event: count(event) })}</p>
    ${plan.value?.problem ? html`<${Problem} plan=${plan.value} />` : plan.value && html`<${Plan} plan=${plan.value} />`}
    ${failure.value && html`<p class="problem" role="alert">${failure.value}</p>`}
    <div class="audit-end" aria-live="polite">${address.value
      ? html`<p>${t("lab.audit.started")}</p><a class="button button-primary" id="audit-run" href=${address.value}>${t("lab.audit.see")}</a>`
      : isStarting.value
        ? html`<p class="quiet">${t("lab.audit.replaying")}</p>`
        : plan.value && !plan.value.problem && html`<button type="button" class="button button-primary" id="audit-start" onClick=${start}><${Icon} name="play" /><span>${t("lab.audit.start")}</span></button>`}
      ${!plan.value && !failure.value && html`<p class="quiet">${t("lab.audit.waiting")}</p>`}</div></div>`;
}

function Plan({ plan }) {
  const fact = (key, names) => html`<div class="fact"><dt>${t(`lab.audit.${key}`)}</dt><dd>${names.length > 0 ? names.join(", ") : t("lab.audit.groups_none")}</dd></div>`;
  return html`<dl class="facts">${fact("topics", plan.topics)}${fact("groups", plan.groups)}</dl>
    <${ToSet} text="silent" names=${plan.silent} setting="enable_msg_trace" />
    <p class="quiet">${t("lab.audit.now")}</p>`;
}

function Problem({ plan }) {
  return html`<p class="panel-note">${bilingual(plan.problem)}</p>
    <${ToSet} text="unnumbered" names=${plan.unnumbered} setting="number_messages" />
    <p class="quiet">${t("lab.audit.how")} <a href="/tutorials/15-auditing-with-spark">${t("lab.audit.lesson")}</a></p>`;
}

/** Nodes with a switch that stands in the way of the audit: each leads to its editor. */
function ToSet({ text, names, setting }) {
  if (names.length === 0) return null;
  return html`<div class="audit-settings"><p>${t(`lab.audit.${text}`)}</p>
    <ul role="list">${names.map((node) => html`<li key=${node}><button type="button" class="button small-button" aria-haspopup="dialog" onClick=${() => (openSetting.value = { node, name: setting })}>
      <${Icon} name="edit" /><span>${node} <code>${setting}</code></span></button></li>`)}</ul></div>`;
}
