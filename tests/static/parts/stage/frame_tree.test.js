import assert from "node:assert/strict";
import test from "node:test";
import { leavesOf } from "../../../../static/parts/stage/frame_tree.js";

const field = (name, position, length, children = []) => ({ name, position, length, children, omitted: 0 });

test("the leaves are in the order of their bytes, without what was packed or has none", () => {
  const records = field("records", 6, 9, [field("offset", 6, 8), field("inner", -1, 4), field("end", 14, 1)]);
  const leaves = leavesOf([field("key", 0, 2), field("empty", 2, 0), records, field("tags", 15, 1)]);
  assert.deepEqual(
    leaves.map(({ name, start, length }) => [name, start, length]),
    [
      ["key", 0, 2],
      ["offset", 6, 8],
      ["end", 14, 1],
      ["tags", 15, 1],
    ],
  );
  assert.equal(leaves[1].field, records.children[0]);
  assert.deepEqual(leavesOf([]), []);
});
