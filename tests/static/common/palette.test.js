import assert from "node:assert/strict";
import test from "node:test";
import { groupMark, topicMark } from "../../../static/common/palette.js";
import * as another from "../../../static/common/palette.js?another-page";
import { forRandom } from "../support/random_values.js";

test("a name has the same mark on every page, whichever names came first", () => {
  const names = ["orders", "billing", "锁", "%RETRY%billing", "order-paid", "T3", ""];
  const marks = names.map((name) => [topicMark(name), groupMark(name)]);
  const others = names.toReversed().map((name) => [another.topicMark(name), another.groupMark(name)]);
  assert.deepEqual(others.toReversed(), marks);
  assert.equal(topicMark("orders"), topicMark("orders"));
});

test("a code comes from the name", () => {
  const names = ["pay-refund", "%RETRY%quick", "%DLQ%quick", "XyzWords", "orders", "T3"];
  assert.deepEqual(
    names.map((name) => topicMark(name).code),
    ["PR", "↻Q", "†Q", "XW", "OR", "T3"],
  );
});

test("topics of the system are grey", () => {
  for (const name of ["%RETRY%turn", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC"])
    assert.equal(topicMark(name).tone, "grey");
});

test("every name has a code of two characters and a group a letter", () => {
  forRandom(60, (random, number) => {
    const name = random.list(6, () => random.pick(["锁", "😀", "q", "Z", "-", "_", " ", "9"])).join("") + number;
    assert.match(topicMark(name).code, /^[A-Z][A-Z0-9]$/, name);
    assert.match(groupMark(name).letter, /^[A-Z]$/, name);
  });
});

test("marks are spread evenly over many names", () => {
  const tones = Array.from({ length: 800 }, (_, n) => topicMark(`topic-${n}`).tone);
  const uses = [...new Set(tones)].map((tone) => tones.filter((other) => other === tone).length);
  assert.equal(uses.length, 8);
  assert.ok(Math.min(...uses) > 50, String(uses));
});
