// @ts-check
// Where links run: from the head of one card to that of another, around the cards between them. A line is a list of
// Bézier curves, each [start, control, control, end], with the share of the way at which it ends; in the stage's own
// pixels, whatever it is zoomed to.

/** Pixels that a line keeps from a card that it passes. */
const PASS = 9;

/** { left, right, top, bottom } of an element within the stage. */
export function boxOf(element, stage) {
  let [left, top] = [0, 0];
  for (let at = element; at && at !== stage; at = at.offsetParent) {
    left += at.offsetLeft;
    top += at.offsetTop;
  }
  return { left, top, right: left + element.offsetWidth, bottom: top + element.offsetHeight };
}

/** One line per pair of nodes ("B1 P1"), from the name that sorts first. */
export function measureLines(stage, pairs) {
  const cards = [...stage.querySelectorAll("[data-node]")].map((card) => [card.dataset.node, boxOf(card, stage)]);
  const lines = new Map();
  for (const pair of pairs) {
    const names = pair.split(" ");
    const [a, b] = names
      .map((name) => stage.querySelector(`[data-anchor="${CSS.escape(name)}"]`))
      .map((head) => head && boxOf(head, stage));
    const others = cards.filter(([name]) => !names.includes(name)).map(([, box]) => box);
    if (a && b) lines.set(pair, lineBetween(a, b, others));
  }
  return lines;
}

/** The line from box `a` to box `b`, around the `others`. */
export const lineBetween = (a, b, others) => withShares(curvesBetween(a, b, others));

const middle = (box) => (box.top + box.bottom) / 2;

function curvesBetween(a, b, others) {
  if (a.right < b.left) return across([a.right, middle(a)], [b.left, middle(b)], others);
  if (b.right < a.left) {
    const back = across([b.right, middle(b)], [a.left, middle(a)], others);
    return back.map((curve) => [...curve].reverse()).reverse();
  }
  // Above each other: out at the left side and in again.
  const x = Math.min(a.left, b.left);
  const out = Math.min(30, 12 + Math.abs(middle(a) - middle(b)) / 8);
  return [
    [
      [x, middle(a)],
      [x - out, middle(a)],
      [x - out, middle(b)],
      [x, middle(b)],
    ],
  ];
}

/** From left to right. Cards in between are passed through the nearest gap above, below or between the cards. */
function across(from, to, others) {
  const between = others.filter((box) => box.left > from[0] && box.right < to[0]);
  if (between.length === 0) return [bend(from, to)];
  const [left, right] = [Math.min(...between.map((box) => box.left)), Math.max(...between.map((box) => box.right))];
  const wanted = (from[1] + to[1]) / 2;
  const gaps = between
    .flatMap((box) => [box.top - PASS, box.bottom + PASS])
    .filter((y) => between.every((box) => y < box.top || y > box.bottom))
    .sort((a, b) => Math.abs(a - wanted) - Math.abs(b - wanted));
  const [enter, leave] = [left - PASS, right + PASS].map((x) => /** @type {Point} */ ([x, gaps[0]]));
  return [bend(from, enter), bend(enter, leave), bend(leave, to)];
}

/**
 * @typedef {[number, number]} Point
 * @param {Point} from
 * @param {Point} to
 */
function bend([x1, y1], [x2, y2]) {
  const half = (x2 - x1) / 2;
  return [
    [x1, y1],
    [x1 + half, y1],
    [x2 - half, y2],
    [x2, y2],
  ];
}

/** A curve's share of the way goes by the distance between its ends. */
function withShares(curves) {
  const lengths = curves.map(([a, , , d]) => Math.max(1, Math.hypot(d[0] - a[0], d[1] - a[1])));
  const whole = lengths.reduce((sum, length) => sum + length, 0);
  let way = 0;
  // The last one ends at exactly 1, which a sum of quotients might miss.
  return curves.map((points, index) => ({ points, end: (way += lengths[index]) / whole }));
}

export const pathOf = (line) =>
  line.map(({ points: [a, b, c, d] }, index) => `${index ? "" : `M${a}`}C${b} ${c} ${d}`).join("");

/** The point at a share of the way, from the start (0) to the end (1). */
export function pointOn(line, share) {
  const found = line.findIndex(({ end }) => share <= end);
  const at = found < 0 ? line.length - 1 : found;
  const begin = at > 0 ? line[at - 1].end : 0;
  const [a, b, c, d] = line[at].points;
  const s1 = Math.min(1, Math.max(0, (share - begin) / (line[at].end - begin)));
  const s = 1 - s1;
  const [w0, w1, w2, w3] = [s * s * s, 3 * s * s * s1, 3 * s * s1 * s1, s1 * s1 * s1];
  return [w0 * a[0] + w1 * b[0] + w2 * c[0] + w3 * d[0], w0 * a[1] + w1 * b[1] + w2 * c[1] + w3 * d[1]];
}

/** Left and right end of a line. */
export function endsOf(line) {
  const [from, to] = [line[0].points[0], line.at(-1).points[3]];
  return from[0] <= to[0] ? [from, to] : [to, from];
}

/** A curve that leaves one point and arrives at another horizontally. @param {Point} from @param {Point} to */
export const curveBetween = (from, to) => withShares([bend(from, to)]);

/**
 * Lets an element with these classes fly through places (`placeAt` says where it is after a share of its way) and takes
 * it away at the end. It works on the DOM itself, by transforms, which a browser moves without painting again.
 *
 * @param {HTMLElement} box @param {string} kind @param {(share: number) => number[]} placeAt
 * @param {number} radius @param {KeyframeAnimationOptions} timing
 */
export function fly(box, kind, placeAt, radius, timing) {
  const flying = document.createElement("span");
  flying.className = kind;
  box.append(flying);
  const places = [0, 0.25, 0.5, 0.75, 1].map(placeAt);
  const flight = flying.animate(
    places.map(([x, y]) => ({ transform: `translate(${(x - radius).toFixed(1)}px, ${(y - radius).toFixed(1)}px)` })),
    { easing: "ease-in-out", ...timing },
  );
  flight.onfinish = flight.oncancel = () => flying.remove();
  return flying;
}
