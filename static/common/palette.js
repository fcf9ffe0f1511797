// Colours, letters and shapes. Colour never stands alone: a topic also has a two-letter code, a group a letter in a
// shape. Topics get their colours in a fixed order, the oldest first, so that the first ones are far apart, for
// colour-blind eyes too (tests/app/web/test_topic_colours.py); topics of the system and of groups are grey. A group has
// no colour: its shape identifies it. styles/tokens.css has the values, and a text colour for each that is readable on
// it.

import { keep, kept as recalled } from "./kept.js";

const TONES = ["sky", "orange", "green", "blue", "yellow", "pink", "brown", "violet"];
const SYSTEM_TONE = "grey";
const GROUP_TONE = "group";

/** Topics that a broker makes by itself, as far as their names show. */
const SYSTEM_NAME =
  /^(%|RMQ_|SCHEDULE_|TRANS_|SELF_TEST|OFFSET_MOVED|BenchmarkTest$|TBW102$|DefaultCluster|rmq_sys_|broker-[a-z]$)/;

/** Outlines of the group markers, drawn in a box from -1 to 1. */
const SHAPES = [
  "M0 -1A1 1 0 1 1 0 1A1 1 0 1 1 0 -1Z", // circle
  "M-.9 -.9H.9V.9H-.9Z", // square
  "M0 -1.2L1.2 0L0 1.2L-1.2 0Z", // diamond
  "M0 -1.3L1.4 1.05H-1.4Z", // triangle up
  "M-1.4 -1.05H1.4L0 1.3Z", // triangle down
  "M-.58 -1H.58L1.16 0L.58 1H-.58L-1.16 0Z", // hexagon
];

/**
 * Hands out the same mark for the same name as long as the page lives. What a mark looks like follows from which names
 * came before it; no mark changes when others come or go.
 */
function assigner(make) {
  const given = new Map();
  const markOf = (name) => {
    if (!given.has(name)) {
      given.set(name, make(name, [...given.values()]));
      keepLater();
    }
    return given.get(name);
  };
  return { given, markOf };
}

const topics = assigner((name, others) => ({
  tone: SYSTEM_NAME.test(name) ? SYSTEM_TONE : leastUsed(TONES, others, "tone"),
  code: freeCode(name, new Set(others.map((mark) => mark.code))),
}));

const groups = assigner((name, others) => ({
  tone: GROUP_TONE,
  shape: leastUsed(SHAPES, others, "shape"),
  letter: freeLetter(name, new Set(others.map((mark) => mark.letter))),
}));

/** How far the letter is below the middle of a shape: where a triangle is wide. */
const LETTER_DY = new Map([
  [SHAPES[3], ".52em"],
  [SHAPES[4], ".2em"],
]);
export const letterDy = ({ shape }) => LETTER_DY.get(shape) ?? ".36em";

export const topicMark = topics.markOf;
export const groupMark = groups.markOf;

// ------------------------------------------------------------------------------ the same marks after a reload

const KEPT = "glassmq.marks-by-age";
let isKeeping = false;
let isKeepingDue = false;

/**
 * Takes the marks of these names, oldest first, as this browser showed them last time and keeps from now on what is
 * handed out: a reload, or a topic that came meanwhile, changes no mark. Names that are gone are forgotten.
 */
export function recallMarks(topicNames, groupNames) {
  if (!isKeeping) {
    const kept = readKept();
    adopt(topics.given, kept.topics, topicNames, (mark) => typeof mark.code === "string");
    adopt(
      groups.given,
      kept.groups,
      groupNames,
      (mark) => typeof mark.letter === "string" && SHAPES.includes(mark.shape),
    );
    isKeeping = true;
  }
  topicNames.forEach(topicMark);
  groupNames.forEach(groupMark);
}

function adopt(given, kept, names, isWhole) {
  for (const name of names) {
    const mark = kept?.[name];
    if (!given.has(name) && mark && isTone(mark.tone) && isWhole(mark)) given.set(name, mark);
  }
}

const isTone = (tone) => [...TONES, SYSTEM_TONE, GROUP_TONE].includes(tone);

function readKept() {
  try {
    return JSON.parse(recalled(KEPT)) ?? {};
  } catch {
    return {}; // written by something else
  }
}

/** One write for all marks of this turn. */
function keepLater() {
  if (!isKeeping || isKeepingDue) return;
  isKeepingDue = true;
  queueMicrotask(() => {
    isKeepingDue = false;
    const [topicMarks, groupMarks] = [topics, groups].map(({ given }) => Object.fromEntries(given));
    keep(KEPT, JSON.stringify({ topics: topicMarks, groups: groupMarks }));
  });
}

// ------------------------------------------------------------------------------------- what follows from a name

/** The first of `choices` that fewer of the others have than any: each comes once before one comes again. */
function leastUsed(choices, others, what) {
  const uses = (choice) => others.filter((mark) => mark[what] === choice).length;
  return choices.reduce((best, choice) => (uses(choice) < uses(best) ? choice : best));
}

/** A letter of the group's name that no other group has, else any: "billing" -> B. */
function freeLetter(name, taken) {
  const alphabet = Array.from({ length: 26 }, (_, index) => String.fromCharCode(65 + index));
  const own = [...name.toUpperCase()].filter((character) => alphabet.includes(character));
  const pairs = alphabet.flatMap((first) => alphabet.map((second) => first + second));
  return [...own, ...alphabet, ...pairs].find((letter) => !taken.has(letter)) ?? "?";
}

const SIGNS = { RETRY: "↻", DLQ: "†" };

/** Two letters that stand for the topic and that no other topic has: "order-paid" -> OP, "%RETRY%billing" -> ↻B. */
function freeCode(name, taken) {
  const sign = SIGNS[/^%(RETRY|DLQ)%/.exec(name)?.[1]];
  const words = name
    .replace(/^%(RETRY|DLQ)%/, "")
    .split(/[^a-zA-Z0-9]+|(?<=[a-z])(?=[A-Z])/)
    .filter(Boolean);
  const letters = words.join("").toUpperCase() || "TT";
  const initials = words.length > 1 ? words[0][0] + words[1][0] : "";
  if (sign) return [...letters].map((letter) => sign + letter).find((code) => !taken.has(code)) ?? sign + letters[0];
  const candidates = [initials.toUpperCase(), ...[...letters.slice(1)].map((letter) => letters[0] + letter)];
  const numbered = Array.from({ length: 36 }, (_, index) => letters[0] + index.toString(36).toUpperCase());
  return [...candidates, ...numbered].find((code) => code.length === 2 && !taken.has(code)) ?? letters.slice(0, 2);
}
