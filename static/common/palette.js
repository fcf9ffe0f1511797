// Colours, letters and shapes. Colour never stands alone: a topic also has a two-letter code, a group a letter
// in a shape. The eight tones are Okabe and Ito's, which colour-blind people tell apart; styles/tokens.css has
// their values and a text colour for each that is readable on it.

const TONES = ["yellow", "orange", "grey", "purple", "sky", "blue", "vermillion", "green"];

/** Outlines of the group markers, drawn in a box from -1 to 1. */
const SHAPES = [
  "M0 -1A1 1 0 1 1 0 1A1 1 0 1 1 0 -1Z", // circle
  "M-.9 -.9H.9V.9H-.9Z", // square
  "M0 -1.2L1.2 0L0 1.2L-1.2 0Z", // diamond
  "M0 -1.25L1.25 .95H-1.25Z", // triangle up
  "M-1.25 -.95H1.25L0 1.25Z", // triangle down
  "M-.58 -1H.58L1.16 0L.58 1H-.58L-1.16 0Z", // hexagon
];

/**
 * Hands out the same mark for the same name as long as the page lives. What a mark looks like follows from its
 * name, not from how many others there are; a name gives way only where its place is taken.
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
  tone: freeTone(name, others),
  code: freeCode(name, new Set(others.map((mark) => mark.code))),
}));

const groups = assigner((name, others) => ({
  tone: freeTone(`group ${name}`, others),
  shape: SHAPES[(hashOf(`group ${name}`) >>> 8) % SHAPES.length],
  letter: freeLetter(name, new Set(others.map((mark) => mark.letter))),
}));

export const topicMark = topics.markOf;
export const groupMark = groups.markOf;

// ------------------------------------------------------------------------------ the same marks after a reload

const KEPT = "glassmq.marks";
let isKeeping = false;
let isKeepingDue = false;

/**
 * Takes the marks of these names as this browser showed them last time and keeps from now on what is handed out:
 * a reload, or a topic that came meanwhile, changes nobody's mark. Names that are gone are forgotten.
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
    if (!given.has(name) && mark && TONES.includes(mark.tone) && isWhole(mark)) given.set(name, mark);
  }
}

function readKept() {
  try {
    return JSON.parse(localStorage.getItem(KEPT)) ?? {};
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
    localStorage.setItem(KEPT, JSON.stringify({ topics: topicMarks, groups: groupMarks }));
  });
}

// ------------------------------------------------------------------------------------- what follows from a name

/** 32 bits that differ for names that differ little (FNV-1a, its upper bits mixed into the lower ones). */
function hashOf(name) {
  let hash = 0x811c9dc5;
  for (const character of name) hash = Math.imul(hash ^ character.codePointAt(0), 0x01000193);
  return (hash ^ (hash >>> 15) ^ (hash >>> 7)) >>> 0;
}

/** The tone that the name points to, or the next one that fewer of the others have. */
function freeTone(name, others) {
  const uses = (tone) => others.filter((mark) => mark.tone === tone).length;
  const first = hashOf(name) % TONES.length;
  const inTurn = [...TONES.slice(first), ...TONES.slice(0, first)];
  return inTurn.reduce((best, tone) => (uses(tone) < uses(best) ? tone : best));
}

/** A letter of the group's name that is nobody else's, else any: "billing" -> B. */
function freeLetter(name, taken) {
  const alphabet = Array.from({ length: 26 }, (_, index) => String.fromCharCode(65 + index));
  const own = [...name.toUpperCase()].filter((character) => alphabet.includes(character));
  const pairs = alphabet.flatMap((first) => alphabet.map((second) => first + second));
  return [...own, ...alphabet, ...pairs].find((letter) => !taken.has(letter)) ?? "?";
}

const SIGNS = { RETRY: "↻", DLQ: "†" };

/** Two letters that remind of the topic and are nobody else's: "order-paid" -> OP, "%RETRY%billing" -> ↻B. */
function freeCode(name, taken) {
  const sign = SIGNS[/^%(RETRY|DLQ)%/.exec(name)?.[1]];
  const words = name
    .replace(/^%(RETRY|DLQ)%/, "")
    .split(/[^a-zA-Z0-9]+|(?<=[a-z])(?=[A-Z])/)
    .filter(Boolean);
  const letters = words.join("").toUpperCase() || "TT";
  const initials = words.length > 1 ? words[0][0] + words[1][0] : "";
  if (sign) return [...letters].map((letter) => sign + letter).find((code) => !taken.has(code)) ?? sign + letters[0];
  const wishes = [initials.toUpperCase(), ...[...letters.slice(1)].map((letter) => letters[0] + letter)];
  const numbered = Array.from({ length: 36 }, (_, index) => letters[0] + index.toString(36).toUpperCase());
  return [...wishes, ...numbered].find((code) => code.length === 2 && !taken.has(code)) ?? letters.slice(0, 2);
}
