import assert from "node:assert/strict";
import test from "node:test";
import { greatestLag, readersOf, slowestGroup } from "../../../../static/parts/lane/readers.js";

const byName = (one, other) => (one < other ? -1 : 1);

test("groups come in their order, then jobs, each with what it has not read", () => {
  const readers = readersOf({ max: 10, committed: { shop: 4, audit: 10 } }, byName, { job: 7 });
  assert.deepEqual(
    readers.map(({ key, offset, lag }) => [key, offset, lag]),
    [
      ["group audit", 10, 0],
      ["group shop", 4, 6],
      ["spark job", 7, 3],
    ],
  );
});

test("a queue lags as its slowest group does; jobs do not count", () => {
  const readers = readersOf({ max: 10, committed: { shop: 8, audit: 9 } }, byName, { job: 0 });
  assert.equal(slowestGroup(readers).name, "shop");
  assert.equal(greatestLag(readers), 2);
  assert.equal(greatestLag(readersOf({ max: 10, committed: {} }, byName, { job: 0 })), null);
});

test("no group is the slowest where all have caught up", () => {
  const readers = readersOf({ max: 10, committed: { shop: 10 } }, byName);
  assert.deepEqual([slowestGroup(readers), greatestLag(readers)], [undefined, 0]);
});
