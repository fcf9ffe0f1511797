// @ts-check
// What can be done to each thing of the stage: its name, one sentence about it, and its actions. An action either acts
// immediately (`act`), or asks for fields first (`form`). What changes the world (`changes`) is not offered in a
// recording.

import { t } from "../../common/i18n.js";
import { COMMANDS, commandName, commandText, kindsForNode, switchFacts } from "../../common/world/commands.js";
import { bilingual, span } from "../../common/world/format.js";
import { labelText, stateText } from "../../common/world/labels.js";
import { actionsOf } from "../messages/half_facts.js";
import { canAsk, openWhy } from "../messages/why.js";
import { isSound } from "../nodes/work/guard.js";
import { command, runUntil, setForAll, stepActor } from "../../common/world/session.js";
import { knownSettingFacts, settingFacts, settingOfTimer, settingValue } from "../../common/world/settings.js";
import {
  nodesOfRole,
  openFrame,
  openHalf,
  openRecord,
  openSetting,
  runningTimers,
  view,
} from "../../common/world/view.js";
import { frameName, isUnderWay } from "../../common/world/frame_words.js";

const HOLD_MS = 2000;
const DELAY_MS = 500;

/** A command that needs no more words. */
const action = (kind, target, values = {}, label = commandName(kind)) => ({
  id: kind,
  kind,
  label,
  hint: commandText(kind),
  changes: true,
  act: () => command(kind, target, values),
});

/** A command that asks for its fields first. */
const form = (kind, target) => ({
  id: kind,
  kind,
  label: `${commandName(kind)} …`,
  hint: commandText(kind),
  changes: true,
  form: { kind, target },
});

/** `id` distinguishes the actions of one thing, in tests and lessons too. */
const look = (id, label, act, hint = "") => ({ id, label, hint, act, changes: false });

const why = (key, group) => key && canAsk.value && look("why", t("lab.why.ask_of", { key }), () => openWhy(key, group));

/** A node as it is now; one that is gone has no parts. */
const nodeOf = (name) => view.value.nodes[name] ?? /** @type {Picture.AnyNode} */ ({});

function node({ name }) {
  const { role } = nodeOf(name);
  return {
    title: `${name} · ${t(`lab.role.${role}`)}`,
    text: `${t(`lesson.about.node_${role}`)} ${stateText(nodeOf(name))}`,
    actions: [
      timeOut(name),
      ...kindsForNode(name).map((kind) => (COMMANDS[kind].fields.length > 0 ? form(kind, name) : action(kind, name))),
    ],
  };
}

/** `name` of the switch, `node` whose it is; `holder` and `queueId` where it is the lock of one queue. */
function lock({ name, node: owner, holder, queueId }) {
  const { role, switched_off: off = [] } = nodeOf(owner);
  const isOff = off.includes(name);
  const { title, text } = switchFacts(name);
  const turn = (target, label) => ({
    ...action("lock-switch", target, { lock: name, on: isOff }, label),
    id: target ? "switch" : "switch-all",
    hint: text,
  });
  const isOneOfMany = (nodesOfRole[role]?.value.length ?? 0) > 1;
  return {
    title: `${title} · ${owner}`,
    text: `${text} ${t(isOff ? "lab.actions.is_off" : "lab.actions.is_on")}`,
    actions: [
      turn(owner, t(isOff ? "lab.actions.switch_on" : "lab.actions.switch_off")),
      isOneOfMany && turn("", t(isOff ? "lab.actions.switch_on_all" : "lab.actions.switch_off_all")),
      holder && action("forced-unlock", holder, { queue_id: queueId }),
    ],
  };
}

function link({ source, target }) {
  const faults = view.value.faults.filter((fault) =>
    fault.links?.some((ends) => ends.includes(source) && ends.includes(target)),
  );
  const both = `${source}<->${target}`;
  const isCut = faults.some(({ kind }) => kind === "partition");
  const cut = (one_way) => ({ left: [source], right: [target], one_way });
  return {
    title: `${source} ↔ ${target}`,
    text: faults.map((fault) => bilingual(fault.text)).join(" · ") || t("lab.actions.link_good"),
    actions: [
      faults.length > 0 && action("heal-link", both),
      view.value.faults.some((fault) => fault.links && !faults.includes(fault)) && action("heal", ""),
      !isCut && { ...action("partition", "", cut(false), t("lab.actions.cut")), id: "cut" },
      !isCut && {
        ...action("partition", "", cut(true), t("lab.actions.cut_one_way", { source, target })),
        id: "cut-one-way",
      },
      ...["link-delay", "link-loss", "link-duplicate", "link-reorder"].map((kind) => form(kind, both)),
      form("drop-next", `${source}->${target}`),
    ],
  };
}

/** What a command of "the next frame like this one" waits for; null for signals of connections. */
const likeThis = (frame) =>
  frame.kind === "request"
    ? frame.name
    : frame.kind === "response"
      ? frame.reply_to_name
        ? `reply to ${frame.reply_to_name}`
        : "reply"
      : null;

/** When a frame arrives, and which it is of those that arrive on that link then. */
function placeOf({ id, source, target, arrives_us: due_us }) {
  const due = view.value.frames.filter(
    (one) =>
      one.source === source && one.target === target && one.arrives_us === due_us && !one.dropped && likeThis(one),
  );
  return { due_us, index: due.findIndex((one) => one.id === id) };
}

function frameActions({ frame: known }) {
  const now = view.value.frames.find((one) => one.id === known.id) ?? known;
  const [way, name, isFlying] = [`${now.source}->${now.target}`, likeThis(now), isUnderWay(now, view.value.time_us)];
  const next = (kind, key, values = {}) => ({
    ...action(kind, way, { frame: name, ...values }, t(`lab.actions.next_${key}`)),
  });
  return {
    title: `${frameName(now)} · ${now.source} → ${now.target}`,
    text: now.dropped
      ? t("lab.frame.dropped")
      : isFlying
        ? t("lab.actions.arrives_in", { time: span(now.arrives_us - view.value.time_us) })
        : t("lab.frames.arrived"),
    actions: [
      look("open", t("lab.actions.open_frame"), () => (openFrame.value = now.id)),
      why(now.key),
      isFlying && name && action("drop-frame", way, placeOf(now), t("lab.frame.drop")),
      ...(name
        ? [next("drop-next", "drop"), next("delay-next", "delay", { ms: DELAY_MS }), next("duplicate-next", "double")]
        : []),
    ],
  };
}

const fireNow = ({ actor, due_us, index, label }, words) => ({
  ...action("fire-timer", actor, { due_us, index }, words),
  id: `fire ${labelText(label)}`,
});

function timer({ timer: known }) {
  const { node: owner, actor, label, due_us } = known;
  const setting = settingOfTimer(known);
  const heldUntil = view.value.actors.find((one) => one.name === actor)?.held_until_us ?? 0;
  const held = heldUntil > view.value.time_us;
  const isTask = actor.includes("/");
  return {
    title: `${owner} · ${labelText(label || actor.split("/").at(-1))}`,
    text: t("lab.actions.fires_in", { time: span(due_us - view.value.time_us) }),
    actions: [
      { ...fireNow(known, t("lab.actions.fire")), id: "fire" },
      look("run", t("lab.actions.run_to_it"), () => runUntil({ on: "time", node: "", contains: "", time_us: due_us })),
      setting && look("setting", t("lab.actions.change"), () => (openSetting.value = { node: owner, name: setting })),
      isTask && look("step", t("lab.actors.step"), () => stepActor(actor)),
      isTask && (held ? action("release", actor) : action("hold", actor, { ms: HOLD_MS }, t("lab.actions.hold"))),
    ],
  };
}

/** A peer of Raft has one timer, for elections or, while it leads, for heartbeats. */
const timeOut = (name) => {
  const known = runningTimers.value.find(({ actor }) => actor === `${name}/raft timer`);
  return known && { ...fireNow(known, t("lab.actions.time_out")), id: "time-out" };
};

/** A setting next to what it controls: it can be changed, and the timers that follow it can be fired. */
function rule({ node: owner, name }) {
  const { unit } = knownSettingFacts(owner, name);
  const timers = runningTimers.value.filter((one) => one.node === owner && settingOfTimer(one) === name).slice(0, 6);
  const now = view.value.time_us;
  return {
    title: `${owner} · ${name}`,
    text: `${settingValue(owner, name)} ${unit}`,
    actions: [
      look("setting", t("lab.actions.change"), () => (openSetting.value = { node: owner, name })),
      timeOut(owner),
      ...timers.map((one) =>
        fireNow(one, t("lab.actions.fire_of", { name: labelText(one.label), time: span(one.due_us - now) })),
      ),
    ],
  };
}

/** A message in the trees of a consumer. */
function heldMessage({ node: holder, broker, topic, queueId, offset, key }) {
  const record = { topic, queue_id: queueId, queue_offset: offset };
  const { group, orderly } = nodeOf(holder);
  return {
    title: `${key || `${topic}@${queueId}`} · ${holder}`,
    text: t("lab.actions.held", { queue: `${topic}@${queueId}`, offset }),
    actions: [
      look("open", t("lab.actions.open_message"), () => (openRecord.value = { broker, holder, record })),
      why(key, group),
      orderly && action("forced-unlock", holder, { queue_id: queueId }),
      form("listener", holder),
      action("kill-consumer", holder),
    ],
  };
}

/** A half message, or one that the broker gave up: a dialog asks before it is decided. */
function half({ node: broker, id }) {
  const {
    messages = [],
    given_up: givenUp = [],
    check_max: max,
  } = /** @type {Partial<Picture.Transactions>} */ (nodeOf(broker).transactions ?? {});
  const gone = givenUp.findLast((one) => one.id === id);
  const message = messages.findLast((one) => one.id === id) ?? gone;
  if (!message) return { title: id, text: t("lab.actions.half_gone"), actions: [] };
  const { key, offset, queue_offset, check_times: n } = message;
  const op = "decided_by" in message ? message.decided_by : null;
  const topic = gone ? "TRANS_CHECK_MAX_TIME_TOPIC" : "RMQ_SYS_TRANS_HALF_TOPIC";
  const record = { offset, key, topic, queue_id: 0, queue_offset };
  const isOpen = !gone && op === null;
  /** @param {import("../messages/half_facts.js").HalfAction} one */
  const decide = (one) => ({
    ...action(`${one}-half`, broker, {}, `${commandName(`${one}-half`)} …`),
    act: () => (openHalf.value = { broker, message, action: one }),
  });
  return {
    title: `${key || id} · ${broker}`,
    text: isOpen || gone ? t("lab.half.checks_hint", { n, max }) : t("lab.half.decided_hint", { op }),
    actions: [
      look("open", t("lab.actions.open_message"), () => (openRecord.value = { broker, record })),
      why(key),
      ...actionsOf(message).map(decide),
    ],
  };
}

/** A call of a listener that runs. */
function call({ node: holder, call: running }) {
  const { topic, queue_id, broker, offsets, keys, since_us } = running;
  const record = { topic, queue_id, queue_offset: offsets?.[0] };
  return {
    title: `${keys?.[0] || `${topic}@${queue_id}`} · ${holder}`,
    text: t("lab.consumer.since", { queue: `${topic}@${queue_id}`, time: span(view.value.time_us - since_us) }),
    actions: [
      look("open", t("lab.actions.open_message"), () => (openRecord.value = { broker, holder, record })),
      why(keys?.[0], nodeOf(holder).group),
      form("listener", holder),
      action("kill-consumer", holder),
    ],
  };
}

/** The idempotent listener of a consumer: its strategies, for all of its group; what follows is repeated with it. */
function guard({ node: owner }) {
  const { group, idempotence } = nodeOf(owner);
  const members = nodesOfRole.consumer.value.filter((name) => nodeOf(name).group === group && nodeOf(name).idempotence);
  if (!idempotence) return { title: owner, text: stateText(nodeOf(owner)), actions: [] };
  const words = (strategy) => t(`lab.guard.strategy_${strategy.replaceAll("-", "_")}`);
  return {
    title: `${t("lab.shelf.idempotence")} · ${owner}`,
    text: `${words(idempotence.strategy)} ${t("lab.guard.switch_hint", { names: members.join(", ") })}`,
    actions: [
      ...(settingFacts(owner, "idempotence_strategy")?.choices ?? []).map((strategy) => ({
        id: strategy,
        kind: "setting",
        label: `${strategy === idempotence.strategy ? "● " : ""}${isSound(strategy) ? "" : "⚠ "}${strategy}`,
        hint: `${isSound(strategy) ? "" : `${t("lab.guard.unsound")} `}${words(strategy)}`,
        changes: true,
        act: () => setForAll(members, "idempotence_strategy", strategy),
      })),
      ...["key", "expiry_ms"].map((name) =>
        look(name, t(`lab.guard.change_${name}`), () => {
          openSetting.value = { node: owner, name: `idempotence_${name}` };
        }),
      ),
    ],
  };
}

/** A record of idempotence in a database or a Redis. */
function idempotenceRecord({ node: store, scope, key }) {
  return {
    title: `${key} · ${store}`,
    text: t("lab.work.record_text", { scope }),
    actions: [action("free-record", store, { scope, key }), why(key)],
  };
}

const OFFERS = {
  node,
  lock,
  link,
  frame: frameActions,
  timer,
  rule,
  call,
  held: heldMessage,
  half,
  guard,
  "idempotence-record": idempotenceRecord,
};

/** { title, text, actions } of a thing as it is now. Reads signals. */
export function offersFor({ kind, ...facts }) {
  const { actions, ...rest } = OFFERS[kind](facts);
  return { ...rest, actions: actions.filter(Boolean) };
}
