// Colours, letters and shapes. Colour never stands alone: a topic also has a two-letter code, a group a letter
// in a shape. The eight tones are Okabe and Ito's, which colour-blind people tell apart; styles/tokens.css has
// their values and a text colour for each that is readable on it.

const TONES = ["sky", "orange", "green", "purple", "yellow", "blue", "vermillion", "grey"];

/** Outlines of the group markers, drawn in a box from -1 to 1. */
const SHAPES = [
  "M0 -1A1 1 0 1 1 0 1A1 1 0 1 1 0 -1Z", // circle
  "M-.9 -.9H.9V.9H-.9Z", // square
  "M0 -1.2L1.2 0L0 1.2L-1.2 0Z", // diamond
  "M0 -1.25L1.25 .95H-1.25Z", // triangle up
  "M-1.25 -.95H1.25L0 1.25Z", // triangle down
  "M-.58 -1H.58L1.16 0L.58 1H-.58L-1.16 0Z", // hexagon
];

/** Hands out the same mark for the same name as long as the page lives, in the order of first sight. */
function assigner(make) {
  const given = new Map();
  return (name) => {
    if (!given.has(name)) given.set(name, make(name, given.size, given));
    return given.get(name);
  };
}

export const topicMark = assigner((name, index, given) => ({
  tone: TONES[index % TONES.length],
  code: freeCode(name, new Set([...given.values()].map((mark) => mark.code))),
}));

export const groupMark = assigner((name, index) => ({
  tone: TONES[(index + 4) % TONES.length],
  shape: SHAPES[index % SHAPES.length],
  letter: letterOf(index),
}));

/** 0 -> A, 25 -> Z, 26 -> AA */
function letterOf(index) {
  const last = String.fromCharCode(65 + (index % 26));
  return index < 26 ? last : letterOf(Math.floor(index / 26) - 1) + last;
}

const SIGNS = { RETRY: "↻", DLQ: "†" };

/** Two letters that remind of the topic and are nobody else's: "order-paid" -> OP, "%RETRY%billing" -> ↻B. */
function freeCode(name, taken) {
  const sign = SIGNS[/^%(RETRY|DLQ)%/.exec(name)?.[1]];
  const words = name.replace(/^%(RETRY|DLQ)%/, "").split(/[^a-zA-Z0-9]+|(?<=[a-z])(?=[A-Z])/).filter(Boolean);
  const letters = words.join("").toUpperCase() || "TT";
  const initials = words.length > 1 ? words[0][0] + words[1][0] : "";
  if (sign) return [...letters].map((letter) => sign + letter).find((code) => !taken.has(code)) ?? sign + letters[0];
  const wishes = [initials.toUpperCase(), ...[...letters.slice(1)].map((letter) => letters[0] + letter)];
  const numbered = Array.from({ length: 36 }, (_, index) => letters[0] + index.toString(36).toUpperCase());
  return [...wishes, ...numbered].find((code) => code.length === 2 && !taken.has(code)) ?? letters.slice(0, 2);
}
