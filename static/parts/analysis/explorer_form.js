// @ts-check
// What to search: what is off, what stalls or dies, for how long, which frames are lost, and in which part of the
// story. What is left empty is as the server's plan says, which is shown in its place.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { useComputed, useSignal } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { switchName } from "../../common/world/labels.js";
import { bilingual } from "../../common/world/format.js";
import { view } from "../../common/world/view.js";
import { Button } from "../controls/button.js";
import { FormRow, NumberInput, Switch } from "../controls/choices.js";
import { focusPanel } from "../controls/dock.js";
import { Select } from "../panel/select.js";

const DEFAULT_HOLD_MS = 2000;
const PAUSE_MS = 90_000;
const RESTART_MS = 2000;
/** Commands that flip a switch: what is off on the stage is off in the search. */
const SWITCHING = ["lock-switch", "group-lock"];
/** Settings are typed: the server is asked after a pause in typing. */
const REST_MS = 250;

/** The form's settings as the server expects them. */
function requestOf(form) {
  const fields = new FormData(form);
  const request = {
    world: view.peek().world.id,
    without: fields.getAll("without"),
    keeps_settings: !form.elements.keeps_settings || fields.has("keeps_settings"),
  };
  const number = (name) => (fields.get(name) ? Number(fields.get(name)) : undefined);
  request[fields.get("who") === "node" ? "pause_ms" : "hold_ms"] = [number("ms") ?? DEFAULT_HOLD_MS];
  for (const name of ["crash", "lose"]) if (fields.get(name)) request[name] = [fields.get(name)];
  for (const name of ["max_stalls", "max_crashes", "max_losses", "from_ms", "to_ms"]) request[name] = number(name);
  if ((number("max_crashes") ?? 0) > 0) request.restart_ms = [number("restart_ms") ?? RESTART_MS];
  return request;
}

/** `planOf(request)`: a promise of what a search would do; `onBegin(request)` begins it. */
export function ExplorerForm({ running, planOf, onBegin }) {
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const plan = useSignal(null);
  const problem = useSignal("");
  const timer = useRef(0);
  // Counts the questions: an answer that a newer question has overtaken is thrown away.
  const asked = useRef(0);
  const world = useComputed(() => view.value.world.id);
  const settings = useComputed(() => view.value.settings);
  const switched = useComputed(() => JSON.stringify(view.value.faults.filter(({ kind }) => SWITCHING.includes(kind))));
  const refresh = async () => {
    const question = ++asked.current;
    if (!world.peek() || form.current?.checkValidity() === false) return;
    try {
      const next = await planOf(form.current ? requestOf(form.current) : { world: world.peek() });
      if (question !== asked.current) return;
      problem.value = bilingual(next.problem);
      if (!next.problem) plan.value = next;
    } catch (error) {
      if (question === asked.current) problem.value = error.message;
    }
  };
  const refreshSoon = () => (clearTimeout(timer.current), (timer.current = setTimeout(refresh, REST_MS)));
  useEffect(() => (refresh(), () => clearTimeout(timer.current)), [world.value, settings.value, switched.value]);
  const submit = (event) => (event.preventDefault(), onBegin(requestOf(form.current)));

  // Nothing can be searched, or nothing is known yet.
  if (plan.value === null)
    return html`<p class="quiet">${problem.value || t(world.value ? "live.waiting" : "lab.explorer.not_yours")}</p>`;
  const { is_order: isOrder, is_work: isWork } = plan.value;
  const hint = isOrder ? "hint" : isWork ? "hint_work" : "hint_money";
  return html`
    <p class="quiet">${t(`lab.explorer.${hint}`)}</p>
    <form class="explorer-form" ref=${form} onSubmit=${submit} onInput=${refreshSoon} onChange=${refreshSoon}>
      <${Switches} plan=${plan.value} />
      <${Stalls} plan=${plan.value} />
      <${Crashes} plan=${plan.value} />
      <${Losses} plan=${plan.value} />
      <${Window} plan=${plan.value} />
      <${Changed} plan=${plan.value} />
      ${problem.value && html`<p class="panel-note explorer-problem" role="alert">${problem.value}</p>`}
      <div class="form-end">
        <button type="submit" class="button button-primary" disabled=${running || !world.value || problem.value !== ""}>
          ${t("lab.explorer.begin")}
        </button>
      </div>
    </form>
  `;
}

/** A switch that is off on the stage is off here, as long as the search has what was changed there. */
function Switches({ plan: { switches: names, off } }) {
  if (names.length === 0) return null;
  return html`<fieldset>
    <legend>${t("lab.explorer.without")}</legend>
    ${names.map((name) => {
      const isOff = off.includes(name);
      return html`<${Switch}
        key=${`${name} ${isOff}`} name="without" value=${name} text=${switchName(name)}
        disabled=${isOff} defaultChecked=${isOff}
      >
        ${isOff && html`<span class="quiet">${t("lab.explorer.off")}</span>`}
      </${Switch}>`;
    })}
  </fieldset>`;
}

/** How many of one kind may happen; what else is asked of them follows where there may be any. */
const Most = ({ name, count, children }) => html`
  <${FormRow} label=${t(`lab.explorer.${name}`)}>
    <${Select} name=${name} value=${count.value} choose=${(n) => (count.value = Number(n))} options=${[0, 1, 2]} />
  </${FormRow}>
  ${count.value > 0 && children}
`;

/** One of those that the search knows, or all of them. */
const OneOf = ({ name, options }) =>
  html`<${FormRow} label=${t(`lab.explorer.${name}`)}>
    <${Select} name=${name} options=${[["", t(`lab.explorer.${name}_all`)], ...options]} />
  </${FormRow}>`;

const Milliseconds = ({ name, least, value, ...rest }) =>
  html`<${FormRow} label=${t(`lab.explorer.${name}`)}>
    <${NumberInput} name=${name} min=${least} max="600000" required defaultValue=${value} ...${rest} />
  </${FormRow}>`;

// How many are usual is known from the first plan on; later plans repeat the setting.
function Stalls({ plan }) {
  const whole = useSignal(false);
  const usual = useRef(plan.max_stalls).current;
  const count = useSignal(usual);
  const choose = (who) => {
    whole.value = who === "node";
    count.value = whole.value ? Math.min(1, usual) : usual;
  };
  const options = ["actor", "node"].map((who) => [who, t(`lab.explorer.who_${who}`)]);
  return html`
    <${FormRow} label=${t("lab.explorer.who")}><${Select} name="who" choose=${choose} options=${options} /></${FormRow}>
    <${Milliseconds}
      key=${`ms ${whole.value}`} name="ms" least="1" value=${whole.value ? PAUSE_MS : DEFAULT_HOLD_MS}
    />
    <${Most} name="max_stalls" count=${count} />
  `;
}

function Crashes({ plan }) {
  const roles = ["producers", "consumers"].map((role) => [role, t(`lab.explorer.crash_${role}`)]);
  return html`<${Most} name="max_crashes" count=${useSignal(plan.max_crashes)}>
    <${OneOf} name="crash" options=${[...roles, ...plan.clients]} />
    <${Milliseconds} name="restart_ms" least="0" value=${RESTART_MS} />
  </${Most}>`;
}

const Losses = ({ plan }) =>
  html`<${Most} name="max_losses" count=${useSignal(plan.max_losses)}>
    <${OneOf} name="lose" options=${plan.frames} />
  </${Most}>`;

/** Empty: as the plan says, which is shown there in grey. */
function Window({ plan }) {
  const field = (name, us) =>
    html`<${NumberInput}
      name=${name} min="0" max=${plan.duration_ms} placeholder=${Math.floor(us / 1000)}
      aria-label=${t(`lab.explorer.${name}`)}
    />`;
  return html`<div class="form-row" role="group" aria-label=${t("lab.explorer.window")}>
    <span>${t("lab.explorer.window")}</span>
    <span class="explorer-window">
      ${field("from_ms", plan.from_us)}<span aria-hidden="true">–</span>${field("to_ms", plan.to_us)}
    </span>
  </div>`;
}

/** Settings and switches that were changed on this page. */
function Changed({ plan: { settings, switched } }) {
  if (settings.length + switched.length === 0) return null;
  const chip = (text, panel) =>
    html`<${Button} key=${text} class="chip mono" onClick=${() => focusPanel(panel)} title=${t(`lab.panel.${panel}`)}>
      ${text}
    </${Button}>`;
  const nameOf = ({ lock, group }) => (lock ? switchName(lock) : t("lab.explorer.lock_of", { group }));
  const flipped = (one) => `${one.target} ${nameOf(one)}: ${t(one.on ? "lab.order.on" : "lab.order.off")}`;
  return html`<div class="explorer-settings">
    <${Switch} name="keeps_settings" defaultChecked text=${t("lab.explorer.keeps_settings")} />
    <span class="chips">
      ${settings.map((one) => chip(`${one.node} ${one.name} = ${String(one.value)}`, "settings"))}
      ${switched.map((one) => chip(flipped(one), "faults"))}
    </span>
  </div>`;
}
