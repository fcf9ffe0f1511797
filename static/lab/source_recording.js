// @ts-check
// A run that was recorded: the same views and journal, without a server. It can be played, stepped and scrubbed, but
// nothing in it can be changed.
//
// It opens at the event that one looked at when it was exported.
//
// { view, patches: [[operations] per picture], at: event, journal: [entries], frames: {id: details},
//   sources: {file: {lines}}, records: {place: details}, field_texts: {name: texts}, scenario: {text, left_out} }

import { applyPatch } from "../common/patch.js";
import { framesUnderWay, nodeOfActor, receiveJournal, receiveView, sequence, status } from "../common/world/view.js";
import { isEntryRelevant, isFrameRelevant } from "../common/world/relevance.js";

/** Every Nth picture is kept whole, so that going back applies few patches. */
const KEPT_EVERY = 50;
const TICK_MS = 50;
/** At speed "auto": how long a frame flies before one's eyes, and how long a listener that was called is looked at. */
const FLIGHT_US = 500_000;
const LOOK_US = 100_000;

export function openRecording(recording) {
  const kept = [recording.view];
  const events = [recording.view.event];
  let at = 0;
  let tree = recording.view;
  let playing = null;
  let speed = "auto";
  let owed = 0;

  const show = (isSnapshot) => {
    const last = recording.patches.length;
    sequence.value = at;
    receiveView(
      {
        ...tree,
        playing: playing !== null,
        speed,
        ...(playing !== null ? inBetween() : { pace: "", speed_now: null }),
        events_total: totalEvents,
        in_past: false,
        is_over: at === last,
      },
      isSnapshot,
    );
  };
  /** Between two pictures only the time moves on, so that frames fly. */
  const inBetween = () => {
    const pace = paceOf(speed, tree);
    return { ...pace, time_us: tree.time_us + Math.floor(owed * pace.speed_now) };
  };
  const forward = () => {
    if (at >= recording.patches.length) return false;
    tree = applyPatch(tree, recording.patches[at]);
    at += 1;
    events[at] = tree.event;
    if (at % KEPT_EVERY === 0) kept[at / KEPT_EVERY] = tree;
    return true;
  };
  const goTo = (picture) => {
    const index = Math.min(kept.length - 1, Math.floor(picture / KEPT_EVERY));
    if (picture < at || index * KEPT_EVERY > at) {
      at = index * KEPT_EVERY;
      tree = kept[index];
    }
    while (at < picture && forward());
    show(false);
  };
  const stop = () => {
    clearInterval(playing);
    playing = null;
    owed = 0;
  };
  /** Real time is spent on the way to the next picture; how quickly is asked again after each. */
  const tick = () => {
    owed += TICK_MS * 1000;
    while (at < recording.patches.length) {
      const cost = (nextTime() - tree.time_us) / paceOf(speed, tree).speed_now;
      if (cost > owed) break;
      owed -= cost;
      forward();
    }
    if (at >= recording.patches.length) stop();
    show(false);
  };
  const nextTime = () => {
    const change = recording.patches[at]?.find(([, path]) => path[0] === "time_us" && path.length === 1);
    return change ? change[2] : tree.time_us;
  };
  const actions = {
    play: () => (playing ??= setInterval(tick, TICK_MS)),
    pause: stop,
    step: () => (stop(), forward()),
    "step-back": () => (stop(), goTo(Math.max(0, at - 1))),
    restart: () => (stop(), goTo(0)),
    scrub: ({ event }) => {
      stop();
      goTo(pictureOf(event));
    },
    speed: (values) => (speed = values.speed),
  };

  // Once through, so that every picture's event number is known and scrubbing is exact.
  while (forward());
  const totalEvents = tree.event;
  const pictureOf = (event) => {
    if (event >= totalEvents) return recording.patches.length;
    return events.findIndex((number) => number >= event);
  };
  goTo(pictureOf(recording.at ?? 0));
  const entries = recording.journal ?? [];
  receiveJournal({ from: 0, entries });
  status.value = "recording";
  show(true);

  /** The last such record, its fields with their texts; after a power cut another one may stand at the same place. */
  const recordOf = (fits) => {
    const found = Object.values(recording.records ?? {}).findLast(fits);
    return found
      ? { ...found, fields: found.fields.map((field) => ({ ...recording.field_texts[field.name], ...field })) }
      : null;
  };
  return {
    isRecording: true,
    scenario: recording.scenario,
    control(action, values) {
      actions[action]?.(values);
      show(false);
    },
    command() {},
    frame: async (id) => recording.frames?.[id] ?? null,
    entries: async (after, count) => ({
      entries: entries.filter(([number]) => number > after && number <= after + count),
    }),
    search: async ({ text = "", node = "", matters = "no", below = Infinity, above = 0 }) => ({
      entries: entries.filter(
        ([number, , actor, label]) =>
          number < below &&
          number > above &&
          (!node || nodeOfActor(actor) === node) &&
          (matters === "no" || isEntryRelevant({ actor, label })) &&
          `${actor} ${label} #${number}`.toLowerCase().includes(text.toLowerCase()),
      ),
      low: 1,
      high: totalEvents,
    }),
    why: async (key) => recording.why?.[key] ?? null,
    window: async (left, right) => ({
      entries: entries.filter(([, time]) => time >= left && time <= right && time <= tree.time_us),
      every: 1,
      frames: Object.values(recording.frames ?? {}).filter(
        (frame) => frame.sent_us <= Math.min(right, tree.time_us) && frame.arrives_us >= left,
      ),
    }),
    record: async (broker, { offset, stored_us: stored }) =>
      recordOf(
        (one) =>
          one.node === broker && one.record.offset === offset && [undefined, one.record.stored_us].includes(stored),
      ),
    message: async (broker, message) =>
      recordOf(
        (one) =>
          one.node === broker &&
          ["topic", "queue_id", "queue_offset"].every((name) => one.record[name] === message[name]),
      ),
    sourceFile: async (file) => recording.sources?.[file] ?? null,
    exportAddress: () => null,
  };
}

/** How quickly time passes now, and why: as app/lab/session/playback_speed.py has it, as well as the pictures tell. */
function paceOf(speed, tree) {
  if (speed !== "auto") return { pace: "", speed_now: speed };
  const flights = framesUnderWay(tree).filter(isFrameRelevant);
  const lengths = flights.map((frame) => (frame.arrives_us - frame.sent_us) / FLIGHT_US);
  if (flights.length > 0) return { pace: "frame", speed_now: Math.min(...lengths) };
  const isCalled = (tree.calls ?? []).some((call) => call.until_us === null && tree.time_us - call.since_us < LOOK_US);
  return isCalled ? { pace: "listener", speed_now: 0.3 } : { pace: "gap", speed_now: 5 };
}
