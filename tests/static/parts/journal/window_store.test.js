import assert from "node:assert/strict";
import test from "node:test";
import { callsBetween } from "../../../../static/parts/journal/window_store.js";
import { receiveView } from "../../../../static/common/world/view.js";

const call = (event, since, until = null) => ({
  event,
  node: "C1",
  since_us: since,
  until_us: until,
});
const show = (view) => receiveView({ playing: false, busy: null, nodes: {}, frames: [], ...view }, true);
const events = (left, right) => callsBetween(left, right).map(({ event }) => event);

test("calls are those under way at some time between the two, up to the event of the view", () => {
  show({ event: 9, time_us: 900, calls: [call(1, 100, 200), call(2, 300, 400), call(3, 500)] });
  assert.deepEqual(events(0, 1000), [1, 2, 3]);
  assert.deepEqual(events(200, 300), [1, 2]);
  assert.deepEqual(events(201, 299), []);
  assert.deepEqual(events(450, 1000), [3]);
  show({ event: 2, time_us: 350, calls: [] });
  assert.deepEqual(events(0, 1000), [1, 2]);
});

test("a call that ends after the view's time has not ended yet", () => {
  show({ event: 9, time_us: 350, calls: [call(2, 300, 400)] });
  const [, shown] = callsBetween(0, 1000);
  assert.deepEqual(shown, call(2, 300));
});
