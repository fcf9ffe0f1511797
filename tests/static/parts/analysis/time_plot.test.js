import assert from "node:assert/strict";
import test from "node:test";
import { nextChange, timeScale } from "../../../../static/parts/analysis/time_plot.js";
import { forRandom } from "../../support/random_values.js";

const AREA = { left: 60, right: 460 };

test("from a time to its pixel and back is the same time; outside of the range it is at an end", () => {
  forRandom(500, (random) => {
    const range = { left: random.magnitude(9), right: 0 };
    range.right = range.left + 1 + random.magnitude(9);
    const scale = timeScale(AREA, range);
    const time = range.left + random.share() * (range.right - range.left);
    assert.ok(Math.abs(scale.time(scale.x(time)) - time) <= 1e-6 * range.right);
    assert.equal(scale.x(range.left - 5), AREA.left);
    assert.equal(scale.x(range.right + 5), AREA.right);
  });
});

test("a range without length is at the beginning", () => {
  const scale = timeScale(AREA, { left: 7, right: 7 });
  assert.equal(scale.x(7), AREA.left);
  assert.ok(Number.isFinite(scale.time(100)));
});

test("the cursor goes to the next change, and to the one before", () => {
  const series = [[0], [10], [10], [30]];
  assert.deepEqual(
    [-1, 0, 10, 30].map((at) => nextChange(series, at, 1)),
    [0, 10, 30, undefined],
  );
  assert.deepEqual(
    [31, 30, 10, 0].map((at) => nextChange(series, at, -1)),
    [30, 10, 0, undefined],
  );
  assert.equal(nextChange([], 5, 1), undefined);
});
