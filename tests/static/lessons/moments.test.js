import assert from "node:assert/strict";
import test from "node:test";
import { momentsOf } from "../../../static/lessons/moments.js";
import { forRandom } from "../support/random_values.js";

const entry = (number, time, actor = "B1/flush") => ({ number, time, actor });
const none = new Set();

test("each moment is shown once, after its last entry", () => {
  const entries = [entry(1, 10), entry(2, 10), entry(3, 20), entry(4, 20), entry(5, 30)];
  assert.deepEqual(
    momentsOf(entries, none, 36).map(({ number }) => number),
    [2, 4, 5],
  );
  assert.deepEqual(momentsOf([], none, 36), []);
});

test("a moment is worth what its most important entry is", () => {
  const entries = [entry(1, 10), entry(2, 10, "P1->B1#1"), entry(3, 20), entry(4, 30), entry(5, 30), entry(6, 40)];
  const worth = momentsOf(entries, new Set([4]), 36).map((moment) => moment.worth);
  assert.deepEqual(worth, [1, 0, 2, 0]);
});

test("timers go first, then arrivals of frames; what a command did stays", () => {
  const entries = Array.from({ length: 90 }, (_, index) =>
    entry(index + 1, index, index % 3 ? "B1/flush" : "P1->B1#1"),
  );
  const few = momentsOf(entries, new Set([2]), 36);
  assert.equal(few.length, 36);
  assert.ok(few.filter(({ worth }) => worth === 1).length >= 29);
  const fewer = momentsOf(entries, new Set([2, 50]), 10).map(({ number }) => number);
  assert.equal(fewer.length, 10);
  assert.ok([2, 50, 90].every((number) => fewer.includes(number)));
});

test("no more are shown than allowed, but for those of commands, and the last one always", () => {
  forRandom(500, (random) => {
    let time = 0;
    const entries = Array.from({ length: random.integer(1, 200) }, (_, index) =>
      entry(index + 1, (time += random.integer(0, 2)), random.pick(["B1/flush", "P1->B1#1"])),
    );
    const commanded = new Set(random.list(20, () => random.integer(1, 200)));
    const most = random.integer(1, 40);
    const moments = momentsOf(entries, commanded, most);
    assert.ok(moments.length <= Math.max(most, moments.filter(({ worth }) => worth === 2).length + 1));
    assert.equal(moments.at(-1).number, entries.length);
    assert.ok(moments.every(({ time: at }, index) => index === 0 || at > moments[index - 1].time));
    const times = new Set(moments.map((moment) => moment.time));
    for (const { number, time: at } of entries) if (commanded.has(number)) assert.ok(times.has(at));
  });
});
