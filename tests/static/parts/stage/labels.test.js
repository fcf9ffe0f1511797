import assert from "node:assert/strict";
import test from "node:test";
import { LabelRoom, overlap } from "../../../../static/parts/stage/labels.js";
import { forRandom } from "../../support/random_values.js";

const box = (left, top, width = 40, height = 12) => ({ left, top, right: left + width, bottom: top + height });
const randomBox = (random) =>
  box(random.integer(-50, 350), random.integer(-20, 200), random.integer(1, 90), random.integer(1, 30));
const BOUNDS = { left: 0, top: 0, right: 300, bottom: 160 };
const isInside = ({ left, top, right, bottom }) =>
  left >= BOUNDS.left && top >= BOUNDS.top && right <= BOUNDS.right && bottom <= BOUNDS.bottom;

const list = (random, most, make) => Array.from({ length: random.integer(0, most) }, () => make(random));

test("no placed label covers another one or a node, or leaves the bounds", () => {
  forRandom(500, (random) => {
    const nodes = list(random, 6, randomBox);
    const room = new LabelRoom(nodes, BOUNDS);
    const placed = [];
    for (const places of list(random, 20, (each) => list(each, 4, randomBox))) {
      const place = room.place(places, (one) => one);
      if (place) placed.push(place);
    }
    for (const [index, label] of placed.entries()) {
      assert.ok(isInside(label));
      for (const other of [...nodes, ...placed.slice(0, index)]) assert.ok(!overlap(label, other));
    }
  });
});

test("a label goes to the first place that is free, and nowhere if none is", () => {
  forRandom(500, (random) => {
    const taken = list(random, 8, randomBox);
    const places = list(random, 4, randomBox);
    const isFree = (place) => isInside(place) && !taken.some((other) => overlap(place, other));
    const made = [];
    const found = new LabelRoom(taken, BOUNDS).place(places, (one, index) => (made.push(index), one));
    assert.equal(found, places.find(isFree));
    assert.equal(made.length, found ? places.indexOf(found) + 1 : places.length, "boxes are made only as needed");
  });
});

test("labels that only touch do not cover each other", () => {
  const room = new LabelRoom([box(0, 0)]);
  const place = (left, top) => room.place([box(left, top)], (one) => one);
  assert.deepEqual(place(40, 0), box(40, 0));
  assert.equal(place(39, 0), undefined);
  assert.deepEqual(place(39, 12), box(39, 12));
});
