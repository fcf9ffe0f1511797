// @ts-check
// What can be broken at each thing of the live page. An action acts, or asks for fields first. `kind` of a thing:
// client { client, name, isConsumer }, group { group }, queue { group, topic, queueId }, half { id, name }, broker,
// name_server.

import { command, faults } from "../../common/faults.js";
import { span } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { state } from "../../common/cluster/view.js";
import { fullName } from "../client_name.js";
import { kindName, kindText, NAME_SERVER } from "./table.js";

const DELAY_MS = 2000;
const PAUSE_MS = 5000;
/** How far ahead a heartbeat is missed. */
const AHEAD_MS = 120_000;

const broker = () => faults.value.broker ?? state.value.cluster.broker_name;

/** A command that needs no more words. */
const action = (kind, values = {}, label = kindName(kind), id = kind, target = broker()) => ({
  id,
  label,
  hint: kindText(kind),
  act: () => command(kind, target, values),
});

/** A command that asks for fields first: name -> what it begins with. */
const form = (kind, fixed, ask, label = kindName(kind), id = kind, options = {}) => ({
  id,
  label: `${label} …`,
  hint: kindText(kind),
  form: { kind, target: broker(), fixed, ask, options, label },
});

/** A rule for frames of the thing. */
const ruleNow = (what, values) => ({
  ...action("fault", { what, ...values }, t(`faults.action.${what}`), what),
  hint: t(`faults.action.${what}_hint`),
});
const nextOf = (what, values, ask) => ({
  ...form("fault", { what, ...values }, ask, t(`faults.action.next_${what}`), `next-${what}`),
  hint: t(`faults.action.next_${what}_hint`),
});

/** What can be done to frames, of a client, a group or anybody; `frame`: the one that is meant first. */
const nextFrames = (of, frame) => [
  nextOf("hold", { ...of, times: 1 }, { frame }),
  nextOf("drop", of, { frame, times: 1 }),
  nextOf("delay", of, { frame, ms: DELAY_MS, times: 1 }),
  nextOf("duplicate", of, { frame, times: 1 }),
  nextOf("reject", of, { frame, code: "SYSTEM_BUSY", times: 1 }),
];

function client({ client: id, name, isConsumer }) {
  const of = { client: id };
  return {
    title: name,
    text: t("faults.about.client", { id }),
    actions: [
      ruleNow("hold", of),
      ruleNow("cut", { ...of, times: 1 }),
      ...nextFrames(of, isConsumer ? "PULL_MESSAGE" : "SEND_MESSAGE_V2"),
    ],
  };
}

function group({ group: name }) {
  const isOff = faults.value.broken.groups_off?.includes(name);
  const label = t(isOff ? "faults.action.lock_on" : "faults.action.group_lock_off");
  return {
    title: t("faults.about.group_title", { name }),
    text: t(isOff ? "faults.about.group_off" : "faults.about.group"),
    actions: [
      action("group-lock", { group: name, on: isOff === true }, label),
      ...nextFrames({ group: name }, "PULL_MESSAGE"),
    ],
    note: t("faults.about.locks_of_clients"),
  };
}

function queue({ group: name, topic, queueId }) {
  const lock = state.value.locks[name]?.[`${topic}@${queueId}`];
  const others = Object.keys(state.value.groups[name]?.members ?? {}).filter((id) => id !== lock?.client_id);
  const where = { group: name, topic, queue_id: Number(queueId) };
  const options = {
    to: [...others, "nobody"].map((id) => [id, id === "nobody" ? t("faults.about.stranger") : fullName(id)]),
  };
  return {
    title: t("live.groups.queue_of", { topic, id: queueId }),
    text: lock ? t("live.locks.owner", { id: fullName(lock.client_id) }) : t("faults.about.no_lock", { group: name }),
    actions: [
      lock && form("give-lock", where, { to: null }, kindName("give-lock"), "give-lock", options),
      ...nextFrames({ group: name, topic }, "PULL_MESSAGE"),
    ].filter(Boolean),
  };
}

function half({ id, name }) {
  const lose = (frame, key) => ({
    ...action("fault", { what: "drop", frame, key: id, times: 1 }, t(`faults.action.${key}`), key),
    hint: t(`faults.action.${key}_hint`),
  });
  return {
    title: name,
    text: t("faults.about.half"),
    actions: [
      lose("END_TRANSACTION", "lose_end"),
      lose("CHECK_TRANSACTION_STATE", "lose_check"),
      nextOf("hold", { key: id, times: 1 }, { frame: "END_TRANSACTION" }),
    ],
  };
}

function ofBroker() {
  const { broken, clock_ahead_ms: ahead } = faults.value;
  const flushFails = broken.flushes_fail;
  return {
    title: broker(),
    text: ahead > 0 ? t("faults.about.ahead", { time: span(ahead) }) : t("faults.about.broker"),
    actions: broken.broker_crashed
      ? [action("restart")]
      : [
          action("crash"),
          form("pause", {}, { ms: PAUSE_MS }),
          form("advance", {}, { ms: AHEAD_MS }),
          broken.disk_full ? action("disk-free") : action("disk-full"),
          form("slow-fsync", {}, { ms: broken.flush_ms || 1000 }),
          action(
            "fail-fsync",
            { on: flushFails },
            flushFails ? t("faults.action.fsync_works") : kindName("fail-fsync"),
          ),
          action(
            "lock-switch",
            { lock: "broker-lock", on: broken.broker_lock_off },
            t(broken.broker_lock_off ? "faults.action.lock_on" : "faults.action.lock_off"),
          ),
          nextOf("hold", { times: 1 }, { frame: "SEND_MESSAGE_V2" }),
        ],
  };
}

const ofNameServer = () => ({
  title: t("live.stage.name_server"),
  text: t("faults.about.name_server"),
  actions: [
    action(faults.value.broken.name_server_crashed ? "restart" : "crash", {}, undefined, undefined, NAME_SERVER),
  ],
});

const OFFERS = { client, group, queue, half, broker: ofBroker, name_server: ofNameServer };

/** { title, text, actions, note } of a thing as it is now. Reads signals. */
export const offersFor = ({ kind, ...facts }) => OFFERS[kind](facts);
