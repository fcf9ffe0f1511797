// @ts-check
// What the stage shows, as signals. A source (socket or recording) writes `view` and `journal`; panels read them.
//
// The view is one plain JSON tree. Patches share what did not change, so "has this node changed?" is one comparison
// by identity and a card renders only when its own node did.

import { batch, computed, signal } from "@preact/signals";
import { firstNot } from "../binary_search.js";
import { steadyList } from "../viewer/lists.js";

/** @type {any} */
const EMPTY_VIEW = {
  world: {},
  scenario: "",
  title: "",
  summary: {},
  about: "",
  suggestion: {},
  try_buttons: [],
  focus: [],
  duration_us: 0,
  busy: null,
  stopped_by: null,
  commands: [],
  failures: [],
  forked_from: null,
  differs: null,
  time_total_us: 0,
  seed: 0,
  event: 0,
  events_total: 0,
  time_us: 0,
  playing: false,
  speed: "auto",
  speed_now: null,
  pace: "",
  in_past: false,
  is_over: false,
  nodes: {},
  frames: [],
  calls: [],
  timers: [],
  actors: [],
  next: null,
  caption: null,
  invariants: [],
  faults: [],
  settings: [],
  link: "",
  backlog: null,
  life: null,
  money: null,
  xa: null,
};

/** The last entries of the journal that this page keeps; the run itself keeps them all. */
export const JOURNAL_KEPT = 20_000;

/** @type {import("@preact/signals").Signal<Picture.ShownWorld>} */
export const view = signal(EMPTY_VIEW);
/** False until the first snapshot: "nothing known yet" is not the same as "nothing there". */
export const loaded = signal(false);
/** A run of the scenario that this browser has begun before, about which the user is asked; or null. */
export const foundRun = signal(/** @type {{ event: number, age_s: number } | null} */ (null));
/** "connecting" | "live" | "reconnecting" | "refused" | "recording" */
export const status = signal("connecting");
export const sequence = signal(/** @type {number | null} */ (null));
/** False while this page follows somebody else's published world. */
export const mine = signal(true);

/**
 * @typedef {{ number: number, time: number, actor: string, node: string, label: string, cause: number }} Entry
 * @typedef {[number: number, time: number, actor: string, label: string, cause: number]} Row
 * @typedef {{ number: number, time_us: number, actor: string, node?: string, label: string, cause: number }} NamedRow
 */

/** Entries, oldest first; a fast run leaves gaps. Grows in place: see `journalVersion`. @type {Entry[]} */
export const journal = [];
export const journalVersion = signal(0);
/** The last time that entries after `number` were replaced: a fork, a restart, another world. */
export const journalCut = signal({ number: 0 });

/** The same for panels that nobody can read twenty times a second: at once while the world rests, calmly while it
    moves. */
/** @type {import("@preact/signals").Signal<Picture.ShownWorld>} */
export const calmView = signal(EMPTY_VIEW);
/** The same for the nodes: their cards are the dearest part of the page. */
/** @type {import("@preact/signals").Signal<Record<string, Picture.AnyNode>>} */
export const nodes = signal({});
const CALM_MS = 250;
const NODES_MS = 95;
let calmTimer = 0;
let nodesShownAt = 0;

/** @param {object} next @param {boolean} isSnapshot */
export function receiveView(next, isSnapshot) {
  const whole = { ...EMPTY_VIEW, ...next };
  batch(() => {
    view.value = whole;
    loaded.value = true;
    if (!isMoving(whole) || isSnapshot) calmDown();
    else if (performance.now() - nodesShownAt >= NODES_MS) showNodes();
  });
  calmTimer ||= setTimeout(calmDown, CALM_MS);
}

/** It plays, or runs to where somebody wants it: more is to come in a moment.
    @param {Picture.ShownWorld} world */
const isMoving = ({ playing, busy }) => playing || busy !== null;

function showNodes() {
  nodesShownAt = performance.now();
  nodes.value = view.peek().nodes;
}

function calmDown() {
  clearTimeout(calmTimer);
  calmTimer = 0;
  batch(() => {
    calmView.value = view.peek();
    showNodes();
    if (journalTimer) tellOfJournal();
  });
}

/** Puts a batch in place of everything after entry number `from`: that was another branch, or was not there yet.
    @param {{ from: number, entries: (Row | NamedRow)[] }} batch */
export function receiveJournal({ from, entries }) {
  const fresh = entries.map(entryOf);
  const begin = fresh.length > 0 ? Math.min(from, fresh[0].number - 1) : from;
  if ((journal.at(-1)?.number ?? begin) > begin) journalCut.value = { number: begin };
  journal.length = indexAfter(begin);
  for (const entry of fresh) journal.push(entry);
  // A tenth at a time: dropping one by one would move the whole list for each batch.
  if (journal.length > JOURNAL_KEPT) journal.splice(0, journal.length - 0.9 * JOURNAL_KEPT);
  if (!isMoving(view.peek())) journalVersion.value += 1;
  else journalTimer ||= setTimeout(tellOfJournal, CALM_MS);
}

let journalTimer = 0;

function tellOfJournal() {
  clearTimeout(journalTimer);
  journalTimer = 0;
  journalVersion.value += 1;
}

/** How many entries have at most this number.
    @param {number} number */
export const indexAfter = (number) => firstNot((entry) => entry.number <= number, journal);

/** @param {Row | NamedRow} entry @returns {Entry} */
export function entryOf(entry) {
  if (Array.isArray(entry)) {
    const [number, time, actor, label, cause] = entry;
    return { number, time, actor, node: nodeOfActor(actor), label, cause };
  }
  return {
    number: entry.number,
    time: entry.time_us,
    actor: entry.actor,
    node: entry.node ?? nodeOfActor(entry.actor),
    label: entry.label,
    cause: entry.cause,
  };
}

/** "B1" of the task "B1/flush" and of the link "P1->B1#2": what arrives there acts there.
    @param {string} actor */
export function nodeOfActor(actor) {
  const [source, target] = actor.split("->", 2);
  return target === undefined ? source.split("/", 1)[0] : target.split("#", 1)[0];
}

/** The entry with a number, or undefined when the page does not have it.
    @param {number} number */
export function entryAt(number) {
  const entry = journal[indexAfter(number) - 1];
  return entry?.number === number ? entry : undefined;
}

// ------------------------------------------------------------------------------------------------ selections

/** The letters of each, in the order in which nodes are listed. */
export const ROLE_LETTERS = {
  producer: "P",
  name_server: "N",
  broker: "B",
  consumer: "C",
  transaction_manager: "TM",
  transaction_coordinator: "TC",
  resource_manager: "RM",
  database: "D",
  redis: "R",
  service: "S",
  kafka_producer: "KP",
  kafka_controller: "KQ",
  kafka_broker: "KB",
  kafka_consumer: "KC",
  raft_client: "RC",
  raft_peer: "R",
  wire_producer: "P",
  wire_broker: "B",
  wire_consumer: "C",
};

export const ROLE_ORDER = Object.keys(ROLE_LETTERS);

/** Names of all nodes: producers, name servers, brokers, consumers. Keeps its identity while they stay the same. */
export const nodeNames = steadyList(() => {
  const known = nodes.value;
  return Object.keys(known).sort(
    (a, b) => ROLE_ORDER.indexOf(known[a].role) - ROLE_ORDER.indexOf(known[b].role) || compare(a, b),
  );
});

export const nodesOfRole = Object.fromEntries(
  ROLE_ORDER.map((role) => [role, steadyList(() => nodeNames.value.filter((name) => nodes.value[name].role === role))]),
);

/** @param {string} a @param {string} b */
export function compare(a, b) {
  return a.localeCompare(b, "en", { numeric: true });
}

/** Timers of nodes; what is on its way over a link is not a timer. */
export const runningTimers = computed(() => calmView.value.timers.filter((timer) => !timer.actor.includes("->")));

/** Frames on their way at the time of the view, the next to arrive first.
    @param {{ frames: Picture.Frame[], time_us: number }} world */
export const framesUnderWay = ({ frames, time_us: now }) =>
  frames
    .filter((frame) => frame.sent_us <= now && frame.arrives_us > now && !frame.dropped)
    .sort((a, b) => a.arrives_us - b.arrives_us);

export const framesInFlight = computed(() => framesUnderWay(view.value));

const invariants = computed(() => view.value.invariants);

export const violations = computed(() =>
  invariants.value.flatMap((invariant) =>
    (invariant.violations ?? []).map((violation) => ({ ...violation, invariant })),
  ),
);

/** Elements that a violation names: "B1", "B1 Orders@0", "order-7". */
export const accused = computed(() => {
  const names = new Set();
  for (const { element = {}, messages = [] } of violations.value) {
    if (element.node) names.add(element.node);
    if (element.queue) names.add(element.queue);
    if (element.message) names.add(element.message);
    messages.forEach((message) => names.add(message));
  }
  return names;
});

// ------------------------------------------------------------------------------------- what the user opened

/** Number of the event whose causes are marked in the sequence diagram and the log, or null. */
export const chosenEvent = signal(/** @type {number | null} */ (null));
/** Id of the frame in the dialog, or null. */
export const openFrame = signal(/** @type {number | null} */ (null));
/** The record in the dialog, or null; `holder`: the consumer that has it. */
export const openRecord = signal(/** @type {{ broker: string, holder?: string, record: any } | null} */ (null));
/** The setting in the editor, or null. */
export const openSetting = signal(/** @type {{ node: string, name: string } | null} */ (null));
/** The half message that is decided by hand, or null; `action`: what is chosen at first. */
export const openHalf = signal(/** @type {{ broker: string, message: any, action?: any } | null} */ (null));
/** Whose dead letters are listed, or null. */
export const openDeadLetters = signal(/** @type {{ broker: string, group: string } | null} */ (null));
/** @type {import("@preact/signals").Signal<{ text: string, isProblem: boolean } | null>} */
export const notice = signal(null);

/** @type {ReturnType<typeof setTimeout> | undefined} */
let noticeTimer;
/** Shows a short text at the bottom of the page; `isProblem` keeps it longer.
    @param {string} text */
export function tell(text, isProblem = false) {
  clearTimeout(noticeTimer);
  notice.value = { text, isProblem };
  noticeTimer = setTimeout(() => (notice.value = null), isProblem ? 9000 : 3500);
}
