import assert from "node:assert/strict";
import test from "node:test";
import { FrameStore } from "../../../../static/parts/stage/frame_store.js";
import { forRandom } from "../../support/random_values.js";

const frame = (id, sent = id * 10, arrives = sent + 25) => ({ id, sent_us: sent, arrives_us: arrives });
const ids = (frames) => frames.map(({ id }) => id);

test("frames come in any order, and again, and are there once in their order", () => {
  forRandom(200, (random) => {
    const store = new FrameStore();
    const all = Array.from({ length: 30 }, (_, index) => frame(index + 1));
    const arrived = random.list(60, () => random.pick(all));
    arrived.forEach((one) => store.add([random.pick([one, { ...one }])]));
    const known = [...new Set(ids(arrived))].sort((a, b) => a - b);
    assert.deepEqual(ids(store.between(-Infinity, Infinity)), known);
    const [left, right] = [random.integer(0, 350), random.integer(0, 350)].sort((a, b) => a - b);
    const wanted = known.filter((id) => all[id - 1].sent_us <= right && all[id - 1].arrives_us >= left);
    assert.deepEqual(ids(store.between(left, right)), wanted);
    const sent = all.filter(({ sent_us: us }) => us >= left && us <= right);
    assert.equal(store.isWhole(left, right, 30) && !sent.every(({ id }) => store.get(id)), false, "not whole");
  });
});

test("whole is what cannot have a gap: a frame that is missing was sent between its neighbours", () => {
  const store = new FrameStore();
  store.add([frame(1), frame(2), frame(4)]);
  assert.equal(store.isWhole(0, 10, 4), true);
  assert.equal(store.isWhole(0, 20, 4), false);
  assert.equal(store.isWhole(0, 40, 4), false);
  assert.equal(store.isWhole(40, 40, 4), false);
  assert.equal(store.isWhole(50, 60, 4), true);
  assert.equal(new FrameStore().isWhole(0, 100, 0), true);
});

test("what is known of a frame is what came last", () => {
  const store = new FrameStore();
  store.add([frame(1, 10, null)]);
  store.add([frame(1, 10, 35)]);
  assert.deepEqual(store.between(0, 100), [frame(1, 10, 35)]);
  assert.equal(store.get(2), null);
});

test("a frame that was sent at another time is of another branch: it replaces all from there on", () => {
  const store = new FrameStore();
  store.add([frame(1), frame(2), frame(3)]);
  store.add([frame(2, 21)]);
  assert.deepEqual(ids(store.between(-Infinity, Infinity)), [1, 2]);
  assert.equal(store.get(3), null);
});

test("a lost frame is there from when it was sent", () => {
  const store = new FrameStore();
  store.add([frame(1, 10, null)]);
  assert.deepEqual([ids(store.between(0, 9)), ids(store.between(10, 10)), ids(store.between(11, 20))], [[], [1], []]);
});

test("the store is bounded, and forgets the oldest", () => {
  const store = new FrameStore();
  for (let id = 1; id <= 10_000; id += 1) store.add([frame(id)]);
  const kept = ids(store.between(-Infinity, Infinity));
  assert.ok(kept.length <= 4000 && kept.length >= 3600);
  assert.equal(kept.at(-1), 10_000);
  assert.equal(store.get(1), null);
});
