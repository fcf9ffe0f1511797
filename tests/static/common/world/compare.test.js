import assert from "node:assert/strict";
import test from "node:test";
import { actionOf, commandsApart, differences } from "../../../../static/common/world/compare.js";
import { forRandom } from "../../support/random_values.js";

test("equal views have no differences, whatever the order of their keys", () => {
  const node = { topics: { T: { queues: { 0: { max: 1, min: 0 } } } }, calls: [], lock: null };
  const same = { lock: null, calls: [], topics: { T: { queues: { 0: { min: 0, max: 1 } } } } };
  assert.deepEqual(differences({ B1: node }, { B1: same }), {});
  assert.deepEqual(differences({}, {}), {});
});

test("a difference names the node, the part and the queue, in both directions alike", () => {
  const view = (max, waiting) => ({
    B1: { topics: { T: { queues: { 0: { max }, 1: { max: 5 } } } }, status: "running" },
    C1: { process_queues: { "T@0": { waiting }, "T@1": {} } },
  });
  const wanted = { B1: { parts: ["topics"], queues: ["T@0"] }, C1: { parts: ["process_queues"], queues: ["T@0"] } };
  assert.deepEqual(differences(view(1, 0), view(2, 1)), wanted);
  assert.deepEqual(differences(view(2, 1), view(1, 0)), wanted);
});

test("a node or a part that only one world has differs as a whole; what was switched off is no consequence", () => {
  assert.deepEqual(differences({ C9: {} }, {}), { C9: { parts: ["node"], queues: [] } });
  assert.deepEqual(differences({ C1: { lock: 1 } }, { C1: {} }), { C1: { parts: ["lock"], queues: [] } });
  assert.deepEqual(differences({ C1: { switched_off: ["broker-lock"] } }, { C1: { switched_off: [] } }), {});
});

test("an empty list, an empty object, null, 0 and nothing are different", () => {
  const values = [[], {}, null, 0, "", false, undefined];
  for (const one of values)
    for (const other of values)
      assert.equal("B1" in differences({ B1: { part: one } }, { B1: { part: other } }), one !== other);
});

test("topics that are called like something of every object are compared like others", () => {
  const view = (max) => ({ B1: { topics: { constructor: { queues: { 0: { max } } }, toString: {} } } });
  assert.deepEqual(differences(view(1), view(2)).B1.queues, ["constructor@0"]);
  assert.deepEqual(differences(view(1), view(1)), {});
  assert.deepEqual(differences(view(1), { B1: { topics: {} } }).B1.queues, ["constructor@0"]);
});

test("commands of one world only are found, each as often as it was given more", () => {
  const crash = (event) => ({ kind: "crash", target: "B1", event, time_us: 10 * event });
  const restart = { kind: "restart", target: "B1", event: 9, time_us: 90 };
  assert.deepEqual(actionOf(crash(3)), { kind: "crash", target: "B1" });
  assert.deepEqual(commandsApart([crash(3)], [crash(5)]), [[], []]);
  assert.deepEqual(commandsApart([crash(3), crash(4)], [crash(5), restart]), [[crash(4)], [restart]]);
});

test("what both have is what neither has alone", () => {
  forRandom(300, (random) => {
    const commands = () =>
      random.list(6, () => ({ kind: random.pick(["crash", "pause"]), event: random.integer(0, 99) }));
    const [left, right] = [commands(), commands()];
    const [ofLeft, ofRight] = commandsApart(left, right);
    assert.equal(left.length - ofLeft.length, right.length - ofRight.length);
    for (const kind of ["crash", "pause"]) {
      const count = (list) => list.filter((one) => one.kind === kind).length;
      assert.equal(count(ofLeft), Math.max(0, count(left) - count(right)));
    }
  });
});
