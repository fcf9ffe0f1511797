import assert from "node:assert/strict";
import test from "node:test";
import { applyPatch, PatchRefused } from "../../../static/common/patch.js";

/** A tree that throws when anything in it is changed. */
function frozen(tree) {
  if (typeof tree === "object" && tree !== null) Object.values(Object.freeze(tree)).forEach(frozen);
  return tree;
}

test("a patch leaves the old tree and its own operations as they were", () => {
  const old = frozen({ topics: { a: { max: 1, tail: [1, 2] }, b: {} } });
  const operations = frozen([
    ["set", ["topics", "c"], { max: 0 }],
    ["set", ["topics", "c", "max"], 7],
    ["append", ["topics", "a", "tail"], [3], 2],
    ["splice", ["topics", "a", "tail"], 0, 1, []],
    ["delete", ["topics", "b"]],
  ]);
  assert.deepEqual(applyPatch(old, operations), { topics: { a: { max: 1, tail: [3] }, c: { max: 7 } } });
  assert.deepEqual(operations[0][2], { max: 0 });
});

test("a list that changed in several places keeps its other items", () => {
  const old = frozen({ timers: [{ due: 1 }, { due: 2 }, { due: 3 }] });
  const next = applyPatch(old, [
    ["splice", ["timers"], 0, 1, []],
    ["splice", ["timers"], 1, 1, [{ due: 4 }]],
    ["splice", ["timers"], 2, 0, [{ due: 5 }]],
  ]);
  assert.deepEqual(next, { timers: [{ due: 2 }, { due: 4 }, { due: 5 }] });
  assert.equal(next.timers[0], old.timers[1]);
});

test("unchanged parts keep their identity, so that they do not render again", () => {
  const old = frozen({ topics: { a: { queues: { 0: { max: 1 }, 1: { max: 5 } } }, b: {} } });
  const next = applyPatch(old, [["set", ["topics", "a", "queues", "0", "max"], 2]]);
  assert.equal(next.topics.b, old.topics.b);
  assert.equal(next.topics.a.queues[1], old.topics.a.queues[1]);
  assert.notEqual(next.topics.a.queues[0], old.topics.a.queues[0]);
  assert.notEqual(next, old);
});

test("an empty patch is the same tree", () => {
  const tree = frozen({ a: [] });
  assert.equal(applyPatch(tree, []), tree);
});

test("a refused operation changes nothing, nor do those before it", () => {
  const tree = frozen({ list: [1, 2], object: { a: 1 } });
  const apply = () =>
    applyPatch(tree, [
      ["set", ["object", "a"], 2],
      ["delete", ["missing"]],
    ]);
  assert.throws(apply, (error) => error instanceof PatchRefused && error.message.includes('["delete",["missing"]]'));
});

test("a topic called __proto__ is a topic like any other", () => {
  const next = applyPatch({ topics: {} }, [["set", ["topics", "__proto__"], { max: 1 }]]);
  assert.deepEqual(Object.keys(next.topics), ["__proto__"]);
  assert.equal({}.max, undefined);
  const again = applyPatch(next, [["set", ["topics", "__proto__", "max"], 2]]);
  assert.equal(JSON.stringify(again), '{"topics":{"__proto__":{"max":2}}}');
});
