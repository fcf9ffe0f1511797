import assert from "node:assert/strict";
import test from "node:test";
import { rowsInSight } from "../../../../static/common/viewer/sight.js";
import { forRandom } from "../../support/random_values.js";

test("the rows in sight are drawn, and never one that is not there", () => {
  forRandom(300, (random) => {
    const [rows, height, rowHeight] = [random.integer(0, 200), random.integer(0, 500), random.integer(8, 30)];
    const top = random.integer(0, Math.max(0, rows * rowHeight - height));
    const { first, end } = rowsInSight(top, height, rowHeight, rows);
    assert.ok(first >= 0 && end <= rows);
    for (let row = 0; row < rows; row += 1)
      if ((row + 1) * rowHeight > top && row * rowHeight < top + height) assert.ok(first <= row && row < end);
  });
});
