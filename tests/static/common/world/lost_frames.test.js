import assert from "node:assert/strict";
import test from "node:test";
import { LOST_MS, LostFrames } from "../../../../static/common/world/lost_frames.js";

const frame = (id, sentUs, isLost) => ({ id, source: "P1", target: "B1", sent_us: sentUs, dropped: isLost });
const picture = (nowUs, frames, isPlaying = true) => ({ time_us: nowUs, playing: isPlaying, frames });
const ids = (frames) => frames.map(({ id }) => id);

test("a frame that is lost at once is shown for a while although a playing world is past it in an instant", () => {
  const lost = new LostFrames(0);
  const seen = [1, 100, LOST_MS, LOST_MS + 1].map((clock) =>
    ids(lost.look(picture(clock * 1e6, [frame(7, 5, true)]), clock)),
  );
  assert.deepEqual(seen, [[7], [7], [7], []]);
  assert.equal(lost.isTimed, false);
});

for (const [name, then] of [
  ["plays on", [picture(9e6, [frame(7, 5, true)])]],
  ["stands, and plays on", [picture(60_000, [frame(7, 5, true)], false), picture(9e6, [frame(7, 5, true)])]],
])
  test(`a frame that is lost on its way is shown for a while where the world ${name}`, () => {
    const lost = new LostFrames(0);
    assert.deepEqual(ids(lost.look(picture(50_000, [frame(7, 5, false)]), 0)), []);
    for (const [index, view] of then.entries()) assert.deepEqual(ids(lost.look(view, 1 + index)), [7]);
    assert.deepEqual(ids(lost.look(picture(10e6, [frame(7, 5, true)]), LOST_MS + 2)), []);
  });

test("a frame that had arrived and is lost in a run that began again before it arrived is shown for a while", () => {
  const lost = new LostFrames(0);
  lost.look(picture(9e6, [frame(7, 5, false)]), 0);
  assert.deepEqual(ids(lost.look(picture(60_000, [frame(7, 5, true)]), 1)), [7]);
  assert.deepEqual(ids(lost.look(picture(9e6, [frame(7, 5, true)]), 2)), [7]);
});

test("what was lost before the page opened, or before the moment one goes back to, is no news", () => {
  const lost = new LostFrames(5e6);
  assert.deepEqual(ids(lost.look(picture(5e6, [frame(7, 5, true)]), 0)), []);
  assert.deepEqual(ids(lost.look(picture(4e6, [frame(7, 5, true)]), 1)), []);
  assert.deepEqual(ids(lost.look(picture(6e6, [frame(7, 5, true)]), 2)), []);
});
