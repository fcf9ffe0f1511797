import assert from "node:assert/strict";
import test from "node:test";
import { cellRow } from "../../../../static/parts/lane/cell_row.js";
import { readersOf } from "../../../../static/parts/lane/readers.js";
import { forRandom } from "../../support/random_values.js";

const compare = (one, other) => (one < other ? -1 : 1);

/** The row of a queue with all its entries. */
function rowOf(min, max, committed, most) {
  const entries = Array.from({ length: max - min }, (_, index) => ({ queue_offset: min + index, offset: 0, key: "" }));
  return cellRow({ min, max, committed, entries }, readersOf({ max, committed }, compare), most);
}

const offsetsOf = ({ entries }) => entries.map((entry) => entry.queue_offset);
const flagsOf = ({ flags }) => flags.map(({ reader, cell, isBefore }) => [reader.name, cell, isBefore]);

test("the newest entries have a cell, and older ones are counted", () => {
  const row = rowOf(3, 10, {}, 4);
  assert.deepEqual([offsetsOf(row), row.older], [[6, 7, 8, 9], 3]);
  assert.deepEqual([offsetsOf(rowOf(3, 5, {}, 4)), rowOf(3, 5, {}, 4).older], [[3, 4], 0]);
});

test("a flag stands over the first entry that its group has not committed, or after the last one", () => {
  assert.deepEqual(flagsOf(rowOf(0, 10, { audit: 8, shop: 10, slow: 2 }, 4)), [
    ["audit", 2, false],
    ["shop", 4, false],
    ["slow", 0, true],
  ]);
});

test("entries are read up to the offset of the slowest group, and without groups none is", () => {
  assert.deepEqual(
    [{ shop: 8, audit: 5 }, { shop: 12 }, {}].map((committed) => rowOf(0, 10, committed, 4).readTo),
    [5, 10, 0],
  );
});

test("an empty queue and one whose entries are not known have flags at their end", () => {
  assert.deepEqual(flagsOf(rowOf(4, 4, { shop: 4 }, 9)), [["shop", 0, false]]);
  const known = { min: 0, max: 7, committed: { shop: 7 } };
  assert.deepEqual(flagsOf(cellRow(known, readersOf(known, compare), 9)), [["shop", 0, false]]);
});

test("no flag leaves the row", () => {
  forRandom(500, (random) => {
    const [min, size, most] = [random.integer(0, 20), random.integer(0, 20), random.integer(1, 9)];
    const { entries, flags } = rowOf(min, min + size, { shop: random.integer(0, 60) }, most);
    assert.equal(entries.length, Math.min(size, most));
    assert.ok(flags[0].cell >= 0 && flags[0].cell <= entries.length);
  });
});
