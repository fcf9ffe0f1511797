// @ts-check
// Colours, letters and shapes. Colour never stands alone: a topic also has a two-letter code, a group a letter in a
// shape. All of it follows from the name, so that every browser shows the same, also after a restart. Only the lab,
// whose scenarios have their topics and groups in one order, hands them out in that order, so that the first ones are
// far apart, for colour-blind eyes too (tests/app/web/test_topic_colours.py). Topics of the system and of groups are
// grey. A group has no colour: its shape identifies it. styles/tokens.css has the values, and a text colour for each
// that is readable on it.

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

let isInOrder = false;
/** From now on a mark differs, as far as there are any left, from those that were handed out before it. */
export const markInOrder = () => (isInOrder = true);

/**
 * Hands out the same mark for the same name as long as the page lives; no mark changes when others come or go.
 *
 * @template Mark
 * @param {(name: string, others: Mark[] | null) => Mark} make
 * @returns {(name: string) => Mark}
 */
function assigner(make) {
  /** @type {Map<string, Mark>} */
  const given = new Map();
  return (name) => {
    const mark = given.get(name) ?? make(name, isInOrder ? [...given.values()] : null);
    given.set(name, mark);
    return mark;
  };
}

/** @typedef {{ tone: string, code: string }} TopicMark */
/** @typedef {{ tone: string, shape: string, letter: string }} GroupMark */

/** @type {(name: string) => TopicMark} */
export const topicMark = assigner((name, /** @type {TopicMark[] | null} */ others) => ({
  tone: SYSTEM_NAME.test(name)
    ? SYSTEM_TONE
    : oneOf(
        TONES,
        name,
        others?.map(({ tone }) => tone),
      ),
  code: freeCode(name, new Set(others?.map((mark) => mark.code))),
}));

/** @type {(name: string) => GroupMark} */
export const groupMark = assigner((name, /** @type {GroupMark[] | null} */ others) => ({
  tone: GROUP_TONE,
  shape: oneOf(
    SHAPES,
    name,
    others?.map(({ shape }) => shape),
  ),
  letter: freeLetter(name, new Set(others?.map((mark) => mark.letter))),
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
 * The one that the name is spread to; in order, the first that fewer of the others have than any.
 *
 * @param {string[]} choices
 * @param {string} name
 * @param {string[]} [others] What the others have; none: in no order.
 */
function oneOf(choices, name, others) {
  if (!others) return choices[hashOf(name) % choices.length];
  /** @param {string} choice */
  const uses = (choice) => others.filter((other) => other === choice).length;
  return choices.reduce((best, choice) => (uses(choice) < uses(best) ? choice : best));
}

/**
 * FNV-1a, its high bits folded into the low ones.
 *
 * @param {string} name
 */
function hashOf(name) {
  let hash = 0x811c9dc5;
  for (const character of name) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}

/**
 * A letter of the group's name, in order one that no other group has: "billing" -> B.
 *
 * @param {string} name
 * @param {Set<string>} taken
 */
function freeLetter(name, taken) {
  const alphabet = Array.from({ length: 26 }, (_, index) => String.fromCharCode(65 + index));
  const own = [...name.toUpperCase()].filter((character) => alphabet.includes(character));
  const pairs = alphabet.flatMap((first) => alphabet.map((second) => first + second));
  return [...own, ...alphabet, ...pairs].find((letter) => !taken.has(letter)) ?? "?";
}

/** @type {Record<string, string>} */
const SIGNS = { RETRY: "↻", DLQ: "†" };

/**
 * Two letters that stand for the topic, in order two that no other has: "order-paid" -> OP, "%RETRY%billing" -> ↻B.
 *
 * @param {string} name
 * @param {Set<string>} taken
 */
function freeCode(name, taken) {
  const sign = SIGNS[/^%(RETRY|DLQ)%/.exec(name)?.[1] ?? ""];
  const words = name
    .replace(/^%(RETRY|DLQ)%/, "")
    .split(/[^a-zA-Z0-9]+|(?<=[a-z])(?=[A-Z])/)
    .filter(Boolean);
  const letters = words.join("").toUpperCase() || "TT";
  const initials = words.length > 1 ? words[0][0] + words[1][0] : "";
  if (sign) return [...letters].map((letter) => sign + letter).find((code) => !taken.has(code)) ?? sign + letters[0];
  const [digit] = isInOrder ? [""] : (/\d?$/.exec(name) ?? [""]);
  const candidates = [
    letters[0] + digit,
    initials.toUpperCase(),
    ...[...letters.slice(1)].map((letter) => letters[0] + letter),
  ];
  const numbered = Array.from({ length: 36 }, (_, index) => letters[0] + index.toString(36).toUpperCase());
  return [...candidates, ...numbered].find((code) => code.length === 2 && !taken.has(code)) ?? letters.slice(0, 2);
}
