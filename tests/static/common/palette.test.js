import assert from "node:assert/strict";
import test from "node:test";
import { groupMark, topicMark } from "../../../static/common/palette.js";
import { forRandom } from "../support/random_values.js";

test("a name has the same mark for as long as the page lives", () => {
  assert.equal(topicMark("orders"), topicMark("orders"));
  assert.equal(groupMark("billing"), groupMark("billing"));
});

test("a code comes from the name", () => {
  assert.deepEqual(
    ["pay-refund", "%RETRY%quick", "%DLQ%quick"].map((name) => topicMark(name).code),
    ["PR", "↻Q", "†Q"],
  );
  assert.equal(topicMark("XyzWords").code, "XW");
});

/** The palette of the lab, which hands marks out in order. */
const inOrder = await import("../../../static/common/palette.js?in-order");
inOrder.markInOrder();

test("in the lab topics get colours in turn, those of the system are grey; groups get shapes in turn", () => {
  const tones = Array.from({ length: 8 }, (_, index) => inOrder.topicMark(`turn-${index}`).tone);
  assert.equal(new Set(tones).size, 8);
  for (const name of ["%RETRY%turn", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC"])
    assert.equal(inOrder.topicMark(name).tone, "grey");
  assert.equal(new Set(Array.from({ length: 6 }, (_, index) => inOrder.groupMark(`shape-${index}`).shape)).size, 6);
});

test("in the lab every name has a mark of two letters, and names that can have different ones do", () => {
  const codes = new Set();
  forRandom(60, (random, number) => {
    const name = random.list(6, () => random.pick(["锁", "😀", "q", "Z", "-", "_", " ", "9"])).join("") + number;
    const { code } = inOrder.topicMark(name);
    assert.equal([...code].length, 2, `${name} has ${code}`);
    assert.ok(!codes.has(code), `${code} is there twice`);
    codes.add(code);
  });
});

test("in the lab a hundred groups have letters of their own", () => {
  const letters = Array.from({ length: 100 }, (_, index) => inOrder.groupMark(`组-${index}`).letter);
  assert.equal(new Set(letters).size, 100);
});
