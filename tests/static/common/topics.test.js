import assert from "node:assert/strict";
import test from "node:test";
import {
  groupOf,
  isLagging,
  isReadBy,
  lagAt,
  queueIds,
  stored,
  summedOffsets,
  summedQueue,
} from "../../../static/common/topics.js";
import { forRandom } from "../support/random_values.js";

const queue = (min, max, committed = {}) => ({ min, max, committed });

test("a retry topic and a dead-letter topic belong to the group in their names", () => {
  assert.deepEqual(["%RETRY%billing", "%DLQ%billing", "orders"].map(groupOf), ["billing", "billing", "orders"]);
});

test("a few messages of lag are usual, and an unknown lag is none", () => {
  assert.deepEqual([null, 0, 10, 11].map(isLagging), [false, false, false, true]);
});

test("an offset past the end of the queue is no negative lag", () => {
  assert.deepEqual([lagAt(3, 10), lagAt(10, 10), lagAt(12, 10)], [7, 0, 0]);
});

test("ids of queues are in the order of their numbers", () => {
  assert.deepEqual(queueIds({ 10: queue(0, 0), 9: queue(0, 0), 0: queue(0, 0) }), ["0", "9", "10"]);
});

test("a topic is read by the groups that have committed in one of its queues, also the offset 0", () => {
  const topic = { queues: { 0: queue(0, 5), 1: queue(0, 5, { shop: 0 }) } };
  assert.deepEqual([isReadBy(topic, "shop"), isReadBy(topic, "audit")], [true, false]);
});

test("the queues of a topic as one store what all store, and each group lags by what it lags in all", () => {
  const queues = { 0: queue(5, 10, { shop: 7 }), 1: queue(0, 4, { shop: 4, audit: 1 }), 2: queue(0, 0) };
  assert.equal(stored(queues), 9);
  assert.deepEqual(summedQueue(queues), { min: 0, max: 9, committed: { shop: 6, audit: 6 } });
  assert.equal(summedQueue(queues), summedQueue(queues), "another object would be drawn again");
});

test("a reader's lag on the sum is the sum of its lags, whatever it has read", () => {
  forRandom(300, (random) => {
    const entries = random.list(6, () => [random.integer(0, 50), random.integer(0, 50), random.integer(-5, 120)]);
    const queues = Object.fromEntries(entries.map(([min, size], id) => [id, queue(min, min + size)]));
    const offsets = summedOffsets(queues, (id) => ({ job: entries[id][2] }));
    const lags = entries.map(([min, size, offset]) => lagAt(offset, min + size)).reduce((sum, lag) => sum + lag, 0);
    if (entries.length > 0) assert.equal(stored(queues) - offsets.job, lags);
    else assert.deepEqual(offsets, {});
  });
});

test("a queue that nobody has read adds nothing to a reader's sum", () => {
  assert.deepEqual(
    summedOffsets({ 0: queue(0, 5), 1: queue(0, 7) }, (id) => (id === "1" ? { job: 4 } : undefined)),
    { job: 9 },
  );
});
