import assert from "node:assert/strict";
import test from "node:test";
import { endsOf, lineBetween, pathOf, pointOn } from "../../../../static/parts/stage/curves.js";
import { forRandom } from "../../support/random_values.js";

const box = (left, top, width = 100, height = 40) => ({ left, top, right: left + width, bottom: top + height });
const [P1, B1, C1] = [box(0, 0), box(200, 100), box(400, 0)];

const isNear = ([x1, y1], [x2, y2], far = 1e-6) => Math.hypot(x1 - x2, y1 - y2) <= far;

/** Boxes in three columns, as the stage has them. */
function randomBoxes(random) {
  const column = (left) => Array.from({ length: random.integer(1, 6) }, (_, row) => box(left, 60 * row, 100, 45));
  return [0, random.integer(150, 300), random.integer(450, 700)].map(column);
}

test("a line goes from the edge of one card to that of the other, in both directions alike", () => {
  assert.deepEqual(endsOf(lineBetween(P1, B1, [])), [
    [100, 20],
    [200, 120],
  ]);
  const [there, back] = [lineBetween(P1, B1, []), lineBetween(B1, P1, [])];
  for (const share of [0, 0.2, 0.5, 0.9, 1]) assert.ok(isNear(pointOn(there, share), pointOn(back, 1 - share)));
});

test("at the end of its way a frame is at the end of the line, and at its beginning at the beginning", () => {
  forRandom(500, (random) => {
    const [left, between, right] = randomBoxes(random);
    const [a, b] = [random.pick(left), random.pick(right)];
    const line = lineBetween(a, b, between);
    assert.ok(isNear(pointOn(line, 0), line[0].points[0]));
    for (const share of [1, 1.0001, 2]) assert.ok(isNear(pointOn(line, share), line.at(-1).points[3]));
    assert.ok(isNear(pointOn(line, -1), line[0].points[0]));
  });
});

test("shares of the way that follow each other are places next to each other", () => {
  forRandom(100, (random) => {
    const [left, between, right] = randomBoxes(random);
    const line = lineBetween(random.pick(left), random.pick(right), between);
    assert.equal(line.at(-1).end, 1);
    let before = pointOn(line, 0);
    for (let step = 1; step <= 400; step += 1) {
      const point = pointOn(line, step / 400);
      assert.ok(isNear(point, before, 25), `jumps at ${step}: ${before} to ${point}`);
      before = point;
    }
  });
});

test("a line passes the cards between its ends, and touches none of them", () => {
  forRandom(200, (random) => {
    const [left, between, right] = randomBoxes(random);
    const line = lineBetween(random.pick(left), random.pick(right), between);
    for (let step = 0; step <= 200; step += 1) {
      const [x, y] = pointOn(line, step / 200);
      for (const card of between)
        assert.ok(!(x > card.left && x < card.right && y > card.top && y < card.bottom), `through a card at ${x},${y}`);
    }
  });
});

test("cards above each other are joined at their left side", () => {
  const line = lineBetween(box(0, 0), box(20, 200), []);
  assert.deepEqual(endsOf(line), [
    [0, 20],
    [0, 220],
  ]);
  assert.deepEqual(pointOn(line, 0.5), [-0.75 * 30, 120], "out by 30 pixels at most");
  assert.deepEqual(pointOn(lineBetween(box(0, 0), box(0, 64), []), 0.5), [-0.75 * 20, 52]);
});

test("a path begins once and has a curve for each part", () => {
  const path = pathOf(lineBetween(P1, C1, [box(200, 0)]));
  assert.match(path, /^M100,20C/);
  assert.equal(path.split("C").length - 1, 3);
  assert.doesNotMatch(path, /NaN/);
});
