import assert from "node:assert/strict";
import test from "node:test";
import { leftUs } from "../../../../../static/parts/nodes/queue/lease.js";

test("a lease in milliseconds runs out in a world's microseconds and is never negative", () => {
  assert.equal(leftUs(5_000_000, 60_000, 5_000_000), 60_000_000);
  assert.equal(leftUs(5_000_000, 60_000, 64_999_999), 1);
  assert.equal(leftUs(5_000_000, 60_000, 65_000_001), 0);
});
