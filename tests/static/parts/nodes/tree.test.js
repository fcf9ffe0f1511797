import assert from "node:assert/strict";
import test from "node:test";
import { layOut } from "../../../../static/parts/nodes/tree.js";
import { forRandom } from "../../support/random_values.js";

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
