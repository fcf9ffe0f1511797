import assert from "node:assert/strict";
import test from "node:test";
import { axisOf, placeOf } from "../../../../static/parts/stage/sequence_axis.js";
import { forRandom } from "../../support/random_values.js";

test("moments are in order from 0 to 1, each once", () => {
  forRandom(500, (random) => {
    const moments = [random.magnitude(9), ...random.list(15, () => random.magnitude(random.integer(1, 10)))];
    const points = axisOf(moments, random.magnitude(6));
    assert.deepEqual(
      points.map(({ us }) => us),
      [...new Set(moments)].sort((a, b) => a - b),
    );
    assert.ok(points.every(({ at }, index) => at >= 0 && at <= 1 && (index === 0 || at > points[index - 1].at)));
    assert.equal(points.at(-1).at, 1);
    for (const { us, at } of points) assert.ok(Math.abs(placeOf(points, us) - (points.length > 1 ? at : 0)) < 1e-9);
  });
});

test("a long gap takes little room and says how long it was", () => {
  const points = axisOf([0, 1000, 61_001_000, 61_002_000], 1000);
  assert.deepEqual(
    points.map(({ gap }) => gap),
    [0, 0, 61_000_000, 0],
  );
  assert.ok(points[2].at - points[1].at < 0.9);
});

test("a moment between two others is between their places, one outside is outside", () => {
  const points = axisOf([100, 200, 10_200], 100);
  assert.ok(Math.abs(placeOf(points, 150) - points[1].at / 2) < 1e-9);
  assert.ok(Math.abs(placeOf(points, 5_200) - (points[1].at + 1) / 2) < 1e-9);
  assert.ok(placeOf(points, 99) < 0);
  assert.ok(placeOf(points, 10_201) > 1);
});

test("without moments there are no places; everything is outside", () => {
  assert.deepEqual(axisOf([], 1000), []);
  assert.ok(placeOf([], 5) < 0);
});

test("frames that take no time do not break the axis", () => {
  for (const { at } of axisOf([0, 5, 10], 0)) assert.ok(at >= 0 && at <= 1);
});
