import assert from "node:assert/strict";
import test from "node:test";
import { cellsOf, layOut } from "../../../../../static/parts/nodes/queue/tree.js";
import { forRandom } from "../../../support/random_values.js";

const node = (offset, left = null, right = null) => ({ offset, key: `k${offset}`, red: offset % 2 === 1, left, right });

/** A search tree of the offsets, of any shape. */
function randomTree(random, offsets) {
  if (offsets.length === 0) return null;
  const root = random.integer(0, offsets.length - 1);
  const [left, right] = [offsets.slice(0, root), offsets.slice(root + 1)];
  return node(offsets[root], randomTree(random, left), randomTree(random, right));
}

test("no tree is no nodes", () => assert.deepEqual(layOut(null), []));

test("nodes are in the order of their offsets, with depth and parent", () => {
  const placed = layOut(node(5, node(2), node(9, node(7))));
  assert.deepEqual(
    placed.map(({ offset, rank, depth, parent }) => [offset, rank, depth, parent?.offset ?? null]),
    [
      [2, 0, 1, 5],
      [5, 1, 0, null],
      [7, 2, 2, 9],
      [9, 3, 1, 5],
    ],
  );
});

test("every node has a place of its own, and its parent is one row above it", () => {
  forRandom(200, (random) => {
    const offsets = Array.from({ length: random.integer(1, 60) }, (_, index) => 3 * index);
    const placed = layOut(randomTree(random, offsets));
    assert.deepEqual(
      placed.map(({ offset }) => offset),
      offsets,
    );
    placed.forEach((one, index) => {
      assert.equal(one.rank, index);
      assert.equal(one.depth, one.parent ? one.parent.depth + 1 : 0);
      assert.equal(one.red, one.offset % 2 === 1);
    });
    assert.equal(placed.filter(({ parent }) => parent === null).length, 1);
  });
});

const offsetsOf = (cells) => cells.map((cell) => cell?.offset ?? null);

test("cells are all messages where there is room, else the first ones and the last", () => {
  const nodes = (n) => Array.from({ length: n }, (_, index) => ({ offset: 2 * index, key: `k${index}` }));
  assert.deepEqual(cellsOf(nodes(3), 3, 0, 4), nodes(3));
  assert.deepEqual(cellsOf(nodes(8), 8, 0, 14), nodes(8));
  assert.deepEqual(cellsOf(nodes(20), 20, 0, 38), [...nodes(6), null, { offset: 38, key: "k19" }]);
});

test("without a tree, offsets are shown only where a message must have them", () => {
  assert.deepEqual(offsetsOf(cellsOf([], 3, 7, 9)), [7, 8, 9]);
  assert.deepEqual(offsetsOf(cellsOf([], 40, 7, 90)), [7, null, 90]);
  assert.deepEqual(offsetsOf(cellsOf([], 2, 7, 90)), [7, 90]);
  assert.deepEqual(offsetsOf(cellsOf([], 1, 7, 7)), [7]);
  assert.deepEqual(cellsOf([], 5, undefined, undefined), [null]);
});

test("no more cells than messages, in their order, and none twice", () => {
  forRandom(300, (random) => {
    const n = random.integer(1, 30);
    const first = random.integer(0, 9);
    const last = first + n - 1 + (n > 1 ? random.integer(0, 5) : 0);
    const shown = offsetsOf(cellsOf([], n, first, last)).filter((offset) => offset !== null);
    assert.ok(shown.length <= Math.min(n, 8));
    assert.deepEqual(
      shown,
      [...new Set(shown)].sort((a, b) => a - b),
    );
    assert.deepEqual([shown[0], shown.at(-1)], [first, last]);
  });
});
