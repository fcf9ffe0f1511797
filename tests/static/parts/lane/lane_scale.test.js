import assert from "node:assert/strict";
import test from "node:test";
import {
  axisDepth,
  axisTicks,
  clusterMarks,
  fullestQueue,
  LINEAR,
  LOGARITHMIC,
  parkedMarks,
  positionOf,
  readableTicks,
} from "../../../../static/parts/lane/lane_scale.js";
import { forRandom } from "../../support/random_values.js";

const SCALES = [LINEAR, LOGARITHMIC];

test("an axis holds the fullest lane, and is never shorter than ten", () => {
  assert.deepEqual(
    [0, 10, 11, 501].map((most) => axisDepth(most, LINEAR)),
    [10, 10, 20, 1000],
  );
  assert.deepEqual(
    [-5, 10, 11, 1000].map((most) => axisDepth(most, LOGARITHMIC)),
    [10, 10, 100, 1000],
  );
  forRandom(1000, (random) => {
    const most = random.magnitude();
    for (const scale of SCALES) assert.ok(axisDepth(most, scale) >= most);
  });
});

test("places go from the oldest at 0 to the newest at 1, and what is outside stands at an end", () => {
  forRandom(1000, (random) => {
    const depth = axisDepth(random.magnitude(), random.pick(SCALES));
    for (const scale of SCALES) {
      assert.equal(positionOf(0, depth, scale), 1);
      assert.equal(positionOf(-7, depth, scale), 1);
      assert.ok(Math.abs(positionOf(depth, depth, scale)) < 1e-12);
      assert.equal(positionOf(2 * depth, depth, scale), positionOf(depth, depth, scale));
      const [near, far] = [random.integer(0, depth), random.integer(0, depth)].sort((a, b) => a - b);
      assert.ok(positionOf(near, depth, scale) >= positionOf(far, depth, scale));
    }
  });
});

test("marks of an axis are whole distances on it, in order", () => {
  assert.deepEqual(axisTicks(1000, LOGARITHMIC), [0, 1, 10, 100, 1000]);
  assert.deepEqual(axisTicks(20, LINEAR), [0, 5, 10, 15, 20]);
  assert.deepEqual(axisTicks(10, LINEAR), [0, 5, 10]);
});

const topic = (...queues) => ({
  queues: Object.fromEntries(
    queues.map(([min, max, groups], id) => [
      id,
      { min, max, committed: Object.fromEntries(Array.from({ length: groups }, (_, at) => [`group-${at}`, max])) },
    ]),
  ),
});

test("the axis of several topics is for their fullest queue", () => {
  assert.equal(fullestQueue([topic([90, 100, 0], [0, 30, 0]), topic([0, 7, 0])]), 30);
  assert.equal(fullestQueue([]), 0);
});

test("there is room for one reader that has caught up at least, and for three at most", () => {
  assert.equal(parkedMarks([], 0), 1);
  assert.equal(parkedMarks([topic([0, 1, 1], [0, 1, 2])], 0), 2);
  assert.equal(parkedMarks([topic([0, 1, 1])], 1), 2);
  assert.equal(parkedMarks([topic([0, 1, 9])], 4), 3);
});

test("labels of the axis do not cover each other, the newest first, nor the words at its end", () => {
  const places = { 0: 100, 1: 90, 10: 60, 100: 57, 1000: 10 };
  const shown = readableTicks(
    [0, 1, 10, 100, 1000],
    1000,
    80,
    (tick) => places[tick],
    () => 20,
  );
  assert.deepEqual(shown, [10, 1000]);
});

test("the label of the oldest end has its room from the edge on", () => {
  assert.deepEqual(
    readableTicks(
      [5, 10],
      10,
      100,
      (tick) => (tick === 5 ? 28 : 50),
      () => 20,
    ),
    [5],
  );
  assert.deepEqual(
    readableTicks(
      [5, 10],
      10,
      100,
      (tick) => (tick === 5 ? 30 : 50),
      () => 20,
    ),
    [5, 10],
  );
});

test("marks are side by side: all are there once, in order, none leaves the lane, and no two cover each other", () => {
  forRandom(500, (random) => {
    const [gap, most, left] = [random.integer(1, 20), random.integer(1, 5), random.integer(-50, 50)];
    const places = random.list(8, () => left + random.integer(-20, 400));
    const right = left + gap * Math.max(1, places.length) + random.integer(0, 300);
    const runs = clusterMarks(places, gap, left, right, most);
    const members = runs.flatMap((run) => run.members);
    assert.deepEqual(
      members.toSorted((a, b) => a - b),
      [...places.keys()],
    );
    assert.deepEqual(
      members.map((index) => places[index]),
      places.toSorted((a, b) => a - b),
    );
    let end = left;
    for (const run of runs) {
      const half = (Math.min(run.members.length, most) * gap) / 2;
      assert.ok(run.x - half >= end - 1e-9, "covers the run before it");
      end = run.x + half;
    }
    assert.ok(end <= right + 1e-9, "leaves the lane");
  });
});

test("a mark that has room stands at its place", () => {
  assert.deepEqual(clusterMarks([50, 20], 10, 0, 100, 4), [
    { members: [1], x: 20 },
    { members: [0], x: 50 },
  ]);
  assert.deepEqual(clusterMarks([], 10, 0, 100, 4), []);
});
