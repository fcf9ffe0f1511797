// @ts-check
// Colours, letters and shapes. Colour never stands alone: a topic also has a two-letter code, a group a letter in a
// shape. All of it follows from the name and from nothing else, so that every page and every browser shows the same,
// also after a restart, whichever name came first. Two names may therefore have the same mark (two topics the same
// colour in one of eight cases); their names, which are always next to it, tell them apart. The seeds are chosen so
// that no scenario has two topics of one colour, or two groups with one mark (tests/static/common/test_palette.py).
// Topics of the system and of groups are grey. A group has no colour: its shape identifies it. styles/tokens.css has
// the values, and a text colour for each that is readable on it.

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

/** Beginnings of the hashes, see above. */
const TOPIC_SEED = 9328;
const GROUP_SEED = 471874;

/**
 * Makes the mark of a name once.
 *
 * @template Mark
 * @param {(name: string) => Mark} make
 * @returns {(name: string) => Mark}
 */
function once(make) {
  /** @type {Map<string, Mark>} */
  const made = new Map();
  return (name) => {
    const mark = made.get(name) ?? make(name);
    made.set(name, mark);
    return mark;
  };
}

/** @typedef {{ tone: string, code: string }} TopicMark */
/** @typedef {{ tone: string, shape: string, letter: string }} GroupMark */

/** @type {(name: string) => TopicMark} */
export const topicMark = once((name) => ({
  tone: SYSTEM_NAME.test(name) ? SYSTEM_TONE : oneOf(TONES, name, TOPIC_SEED),
  code: codeOf(name),
}));

/** @type {(name: string) => GroupMark} */
export const groupMark = once((name) => ({
  tone: GROUP_TONE,
  shape: oneOf(SHAPES, name, GROUP_SEED),
  letter: lettersOf(name)[0],
}));

/** How far the letter is below the middle of a shape: where a triangle is wide. */
const LETTER_DY = new Map([
  [SHAPES[3], ".52em"],
  [SHAPES[4], ".2em"],
]);
/** @param {{ shape: string }} mark */
export const letterDy = ({ shape }) => LETTER_DY.get(shape) ?? ".36em";

// ------------------------------------------------------------------------------------- what follows from a name

/**
 * One of the choices, by FNV-1a, its high bits folded into the low ones.
 *
 * @template Choice
 * @param {Choice[]} choices
 * @param {string} name
 * @param {number} seed
 */
function oneOf(choices, name, seed) {
  let hash = seed;
  for (const character of name) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return choices[((hash ^ (hash >>> 15)) >>> 0) % choices.length];
}

const ALPHABET = Array.from({ length: 26 }, (_, index) => String.fromCharCode(65 + index));

/**
 * The letters of a name: "pay-in" -> PAYIN; two that follow from it where it has none.
 *
 * @param {string} name
 */
function lettersOf(name) {
  const own = [...name.toUpperCase()].filter((character) => ALPHABET.includes(character));
  return own.length > 0 ? own : [oneOf(ALPHABET, name, TOPIC_SEED), oneOf(ALPHABET, name, GROUP_SEED)];
}

/** @type {Record<string, string>} */
const SIGNS = { RETRY: "↻", DLQ: "†" };

/**
 * Two characters that stand for the topic: "orders" -> OR, "order-paid" -> OP, "T3" -> T3, "%RETRY%billing" -> ↻B.
 *
 * @param {string} name
 */
function codeOf(name) {
  const [prefix, kind] = /^%(RETRY|DLQ)%/.exec(name) ?? ["", ""];
  const rest = name.slice(prefix.length);
  const letters = lettersOf(rest);
  if (kind) return SIGNS[kind] + letters[0];
  const words = rest.split(/[^a-zA-Z0-9]+|(?<=[a-z])(?=[A-Z])/).filter(Boolean);
  const second = /\d$/.exec(rest)?.[0] ?? words[1]?.[0].toUpperCase() ?? letters[1] ?? "0";
  return letters[0] + second;
}
