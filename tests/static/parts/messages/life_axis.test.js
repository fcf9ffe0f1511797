import assert from "node:assert/strict";
import test from "node:test";
import { axisOf, placed, shareOf, timeAt } from "../../../../static/parts/messages/life_axis.js";
import { forRandom } from "../../support/random_values.js";

const randomTimes = (random, least = 0) => [
  ...Array.from({ length: least }, () => random.magnitude(11)),
  ...random.list(12, () => random.magnitude(random.integer(1, 11))),
];

test("the axis goes from the first time to the last, and never back", () => {
  forRandom(500, (random) => {
    const times = randomTimes(random, 2);
    const axis = axisOf(times, random.pick([true, false]));
    const [first, last] = [Math.min(...times), Math.max(...times)];
    assert.equal(shareOf(axis, first), 0);
    if (first < last) assert.equal(shareOf(axis, last), 1);
    const shares = times.toSorted((a, b) => a - b).map((time) => shareOf(axis, time));
    assert.ok(shares.every((share, index) => share >= 0 && share <= 1 && (index === 0 || share >= shares[index - 1])));
  });
});

test("times before and after the axis are at its ends", () => {
  const axis = axisOf([10, 20], false);
  assert.deepEqual(
    [-1, 5, 15, 25, Infinity].map((time) => shareOf(axis, time)),
    [0, 0, 0.5, 1, 1],
  );
});

test("from a time to its share and back is the same time", () => {
  forRandom(500, (random) => {
    const times = randomTimes(random, 2);
    const axis = axisOf(times, random.pick([true, false]));
    const [first, last] = [Math.min(...times), Math.max(...times)];
    const time = first + random.share() * (last - first);
    assert.ok(Math.abs(timeAt(axis, shareOf(axis, time)) - time) <= 1e-6 * (last - first) + 1e-6);
  });
});

test("an axis without times, or of a single one, is one place", () => {
  for (const times of [[], [7], [7, 7]]) {
    const axis = axisOf(times, true);
    assert.equal(shareOf(axis, 7), 0);
    assert.equal(timeAt(axis, 0.5), times[0] ?? 0);
  }
});

test("only a broken axis has breaks: those that are much longer than the others, and each says how long it was", () => {
  const times = [0, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10_000, 10_000_000];
  assert.deepEqual(axisOf(times, false).breaks, []);
  const [one, ...more] = axisOf(times, true).breaks;
  assert.deepEqual([one.from, one.gap, one.right, more], [10_000, 9_990_000, 1, []]);
  assert.ok(one.right - one.left < 0.7);
});

test("marks on a lane are in order, none covers another, all are inside, and none is too narrow", () => {
  forRandom(2000, (random) => {
    const width = random.integer(1, 600);
    const starts = randomTimes(random).sort((a, b) => a - b);
    const items = starts.map((from) => ({
      from,
      to: random.pick([null, from, from + random.magnitude(9)]),
      least: random.integer(1, 60),
    }));
    const axis = axisOf([...starts, ...items.map(({ from, to }) => to ?? from)], random.pick([true, false]));
    const places = placed(items, axis, width);
    const shrink = Math.min(1, width / items.reduce((sum, { least }) => sum + least, 1e-9));
    let end = 0;
    places.forEach((place, index) => {
      assert.ok(place.left >= end - 1e-6, `${index} covers the one before it`);
      assert.ok(place.width >= items[index].least * shrink - 1e-6, `${index} is too narrow`);
      end = place.left + place.width;
    });
    assert.ok(end <= width + 1e-6, `${end} of ${width}`);
  });
});

test("an axis of a broker's microseconds since 1970 is that of the same moments in virtual time", () => {
  const EPOCH_US = 1_795_000_000_000_000;
  forRandom(200, (random) => {
    const times = randomTimes(random, 2).map(Math.round);
    const isBroken = random.pick([true, false]);
    const [virtual, live] = [
      axisOf(times, isBroken),
      axisOf(
        times.map((time) => time + EPOCH_US),
        isBroken,
      ),
    ];
    for (const time of times) {
      assert.equal(shareOf(live, time + EPOCH_US), shareOf(virtual, time));
      assert.ok(Math.abs(timeAt(live, shareOf(live, time + EPOCH_US)) - EPOCH_US - time) <= 1);
    }
    assert.deepEqual(
      live.breaks.map(({ from, gap }) => [from - EPOCH_US, gap]),
      virtual.breaks.map(({ from, gap }) => [from, gap]),
    );
  });
});
