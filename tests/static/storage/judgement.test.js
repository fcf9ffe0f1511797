import assert from "node:assert/strict";
import test from "node:test";
import { judged } from "../../../static/storage/judgement.js";
import { forRandom } from "../support/random_values.js";

test("a number of seeks is close within one, or within a tenth", () => {
  assert.deepEqual(
    [0, 1, 2, 3].map((seeks) => judged("seeks", seeks, 1)),
    ["close", "exact", "close", "more"],
  );
  assert.deepEqual(
    [89, 90, 110, 111].map((seeks) => judged("seeks", seeks, 100)),
    ["less", "close", "close", "more"],
  );
});

test("a number of bytes is close within half as much again, in both directions", () => {
  assert.deepEqual(
    [60, 70, 150, 151].map((bytes) => judged("read_bytes", bytes, 100)),
    ["less", "close", "close", "more"],
  );
  assert.deepEqual(
    [judged("read_bytes", 0, 0), judged("read_bytes", 0, 1), judged("read_bytes", 1, 0)],
    ["exact", "less", "more"],
  );
});

test("who predicts nearer is never judged worse", () => {
  const worth = { exact: 2, close: 1, less: 0, more: 0 };
  forRandom(1000, (random) => {
    const counted = random.magnitude(7);
    const [near, far] = [random.magnitude(6), random.magnitude(7)].sort((a, b) => a - b);
    for (const figure of ["seeks", "read_bytes"])
      for (const sign of [1, -1])
        assert.ok(
          worth[judged(figure, counted + sign * near, counted)] >= worth[judged(figure, counted + sign * far, counted)],
        );
  });
});
