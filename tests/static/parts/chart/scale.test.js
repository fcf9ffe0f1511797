import assert from "node:assert/strict";
import test from "node:test";
import {
  acrossRange,
  aloneIn,
  labelRoom,
  powerAbove,
  powersOfTen,
  roofOf,
  spikesOf,
} from "../../../../static/parts/chart/scale.js";
import { bytes, compact, count, microseconds } from "../../../../static/common/format.js";
import { forRandom } from "../../support/random_values.js";

const many = (times, value) => Array(times).fill(value);

test("a spike of the start does not flatten the rest", () => {
  const columns = [[12_000, 9_000, 40, ...Array.from({ length: 290 }, (_, second) => 20 + (second % 5))]];
  assert.ok(roofOf(columns, 10) > 24 && roofOf(columns, 10) < 50);
  assert.ok(roofOf(columns, 10, true) >= 12_000);
  assert.deepEqual(spikesOf(columns[0], 50), [{ index: 0, value: 12_000 }]);
  assert.ok(roofOf([[0, 6_000, ...many(10, 40), ...many(40, 0)]], 10) < 50, "a short day with long rests");
});

for (const [what, values, least] of [
  ["a burst that lasts", [...many(200, 20), ...many(40, 5_000), ...many(60, 20)], 5_000],
  ["what happens now", [...many(295, 20), ...many(5, 5_000)], 5_000],
  ["a broker that rests between bursts", [...many(280, 0), ...many(5, [900, 0, 0, 1_000]).flat()], 1_000],
  ["few values", [3, 4_000], 4_000],
  ["gaps", [null, 7, null], 7],
  ["nothing", [], 10],
])
  test(`no rare spike of the past, shown whole: ${what}`, () => assert.ok(roofOf([values], 10) >= least));

test("a roof is a number at least as high as it must be, whatever is missing", () => {
  forRandom(500, (random) => {
    const value = () => random.pick([null, undefined, 0, random.magnitude(9)]);
    const columns = random.list(3, () => random.list(40, value));
    const [roof, whole] = [roofOf(columns, 10), roofOf(columns, 10, true)];
    assert.ok(roof >= 10 && whole >= roof, `${roof} of ${whole} for ${JSON.stringify(columns)}`);
    assert.ok(columns.flat().every((one) => (one ?? 0) <= whole));
    const spikes = columns.map((column) => spikesOf(column, roof));
    spikes.forEach((found, at) => found.forEach(({ index, value: top }) => assert.equal(columns[at][index], top)));
  });
});

test("every spike is named once, at its top", () => {
  const values = [1, 60, 70, 65, null, 80, 2, 90, 90];
  assert.deepEqual(
    spikesOf(values, 50).map(({ index }) => index),
    [2, 5, 7],
  );
  assert.deepEqual(spikesOf([], 50), []);
});

test("the end of a logarithmic axis is a power of ten above all values", () => {
  assert.equal(powerAbove([[null, 950], []], 100), 10_000);
  assert.equal(powerAbove([[900]], 100), 1000);
  assert.equal(powerAbove([[null]], 100), 100);
});

test("the marks of a logarithmic axis end, whatever its ends are", () => {
  assert.deepEqual(powersOfTen(null, null, 10, 1000), [10, 100, 1000]);
  assert.deepEqual(powersOfTen(null, null, 10, 10), [10]);
  for (const [least, most] of [
    [0, 10],
    [-1, 10],
    [10, Infinity],
    [NaN, 10],
  ])
    assert.ok(powersOfTen(null, null, least, most).length < 400);
});

test("values without neighbours are found", () => {
  assert.deepEqual(aloneIn([7, null, null, 3, null, 4, 5, null, 6]), [0, 3, 8]);
  assert.deepEqual([aloneIn([]), aloneIn([null, undefined])], [[], []]);
});

test("an axis across shows all of its places, or the stretch that was asked for", () => {
  forRandom(300, (random) => {
    const kind = random.pick(["clock", "virtual", "number"]);
    const isLog = kind === "number" && random.pick([true, false]);
    const places = random.list(6, () => random.magnitude(9)).toSorted((a, b) => a - b);
    const [from, to] = acrossRange({ places, kind, isLog });
    assert.ok(from < to, `${places} from ${from} to ${to}`);
    assert.ok(places.every((place) => place >= from && place <= to));
    assert.deepEqual(acrossRange({ places, kind, isLog, range: { from: 3, to: 7 } }), [3, 7]);
  });
});

test("a clock that has just begun has room at its left", () => {
  assert.deepEqual(acrossRange({ places: [100], kind: "clock" }), [92, 100]);
  assert.deepEqual(acrossRange({ places: [100, 101], kind: "clock", least: 60 }), [41, 101]);
});

test("an axis has room for every label, whatever its letters, and usual labels leave it as it is", () => {
  forRandom(200, (random) => {
    const [size, wide] = [random.integer(8, 40), 0.4 + 0.6 * random.share()];
    const print = random.pick([count, compact, bytes, microseconds, (value) => `≤ ${count(value)} records/s`]);
    const labels = random.list(8, () => print(random.magnitude()));
    const room = labelRoom(labels, (text) => text.length * wide * size, size);
    for (const label of labels) assert.ok(room >= label.length * wide * size + 9, `${label} in ${room}`);
  });
  assert.equal(
    labelRoom(["0", "9,999"], (text) => 6 * text.length, 12),
    labelRoom([], () => 0, 12),
  );
});
