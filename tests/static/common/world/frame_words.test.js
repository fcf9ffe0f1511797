import assert from "node:assert/strict";
import test from "node:test";
import { frameName, frameShape, isUnderWay, shortName } from "../../../../static/common/world/frame_words.js";

test("what happened to a frame comes before what it is", () => {
  const shapes = [{ kind: "request", dropped: true }, { kind: "response" }, { kind: "request", is_oneway: true }];
  assert.deepEqual(shapes.map(frameShape), ["lost", "response", "oneway"]);
  assert.deepEqual([{ kind: "request" }, { kind: "connect" }].map(frameShape), ["request", "signal"]);
});

test("a reply is named after what it answers", () => {
  assert.match(frameName({ kind: "response", name: "SUCCESS", reply_to_name: "PULL_MESSAGE" }), /PULL_MESSAGE/);
  assert.equal(frameName({ kind: "response", name: "SUCCESS" }), "SUCCESS");
  assert.doesNotMatch(frameName({ kind: "connect", name: "x" }), /lab\.frame/);
});

test("short names fit next to a link", () => {
  const names = [
    { kind: "request", name: "SEND_MESSAGE_V2" },
    { kind: "request", name: "GET_CONSUMER_LIST_BY_GROUP" },
    { kind: "response", reply_to_name: "PULL_MESSAGE" },
    { kind: "response" },
    { kind: "request", name: "X", action: "COMMIT" },
  ];
  assert.deepEqual(names.map(shortName), ["send", "get list by group", "↩ pull", "↩ ", "commit"]);
});

test("a frame is under way from when it was sent until before it arrives", () => {
  const frame = { sent_us: 5, arrives_us: 9, dropped: false };
  assert.deepEqual(
    [4, 5, 8, 9].map((now) => isUnderWay(frame, now)),
    [false, true, true, false],
  );
  assert.equal(isUnderWay({ ...frame, dropped: true }, 6), false);
});
