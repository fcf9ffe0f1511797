import assert from "node:assert/strict";
import test from "node:test";
import { Glide } from "../../../../static/common/world/glide.js";
import { forRandom } from "../../support/random_values.js";

test("before anything moves, the time is 0", () => {
  assert.deepEqual([new Glide().timeAt(0), new Glide().isMoving(0)], [0, false]);
});

test("the time moves evenly to its target and stays there", () => {
  const glide = new Glide();
  glide.jump(0, 1000);
  glide.start(100, 2000, 50);
  assert.deepEqual(
    [100, 125, 150, 1e9].map((now) => glide.timeAt(now)),
    [1000, 1500, 2000, 2000],
  );
  assert.deepEqual(
    [100, 149, 150].map((now) => glide.isMoving(now)),
    [true, true, false],
  );
});

test("a move that begins in another one begins where that one is", () => {
  const glide = new Glide();
  glide.start(0, 1000, 100);
  glide.start(50, 1500, 100);
  assert.deepEqual(
    [50, 100].map((now) => glide.timeAt(now)),
    [500, 1000],
  );
});

test("a move that takes no time is over immediately, backwards too", () => {
  const glide = new Glide();
  glide.start(0, 1000, 0);
  assert.deepEqual([glide.timeAt(0), glide.isMoving(0)], [1000, false]);
  glide.jump(10, 400);
  assert.equal(glide.timeAt(10), 400);
});

test("a moment before its beginning shows the beginning", () => {
  const glide = new Glide();
  glide.start(1000, 500, 100);
  assert.equal(glide.timeAt(990), 0); // a picture's time is a little before the clock's
});

test("while targets only grow, the time never goes back, whenever it is looked at", () => {
  forRandom(200, (random) => {
    const glide = new Glide();
    let [now, target, shown] = [0, 0, 0];
    for (let step = 0; step < 100; step += 1) {
      now += random.share() * 40;
      if (random.share() < 0.3) glide.start(now, (target += random.integer(0, 5000)), random.integer(0, 160));
      const time = glide.timeAt(now);
      assert.ok(time >= shown - 1e-6 && time <= target + 1e-6, `${shown} then ${time}, up to ${target}`);
      shown = time;
    }
  });
});
