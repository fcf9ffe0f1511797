import assert from "node:assert/strict";
import test from "node:test";
import { autoTime } from "../../../../static/lab/comparison/auto_time.js";

const world = (rate, until, why = `${rate}`) => ({ rate, until_us: until, why });

test("the slower world counts, and its reason is given", () => {
  const ahead = [world(8, 9_000_000), world(0.5, 9_000_000)];
  for (const both of [ahead, ahead.toReversed()])
    assert.deepEqual(autoTime(both, 1_000_000, 0.2), { time: 1_100_000, why: "0.5" });
});

test("time goes no farther than to where a world says something else", () => {
  assert.equal(autoTime([world(8, 1_050_000), world(8, 9_000_000)], 1_000_000, 0.2).time, 1_050_000);
  assert.equal(autoTime([world(8, 1_000_000), world(8, 500_000)], 1_000_000, 0.2).time, 2_600_000);
});

test("where no world says anything, time passes as on a clock", () => {
  assert.deepEqual(autoTime([], 1_000_000, 0.2), { time: 1_200_000, why: "" });
});
