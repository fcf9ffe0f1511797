import assert from "node:assert/strict";
import test from "node:test";
import { indexAt, joined, lookOf, nextPlace } from "../../../../static/parts/chart/model.js";
import { forRandom } from "../../support/random_values.js";

test("lines over different places become columns with gaps, and no point is lost", () => {
  forRandom(300, (random) => {
    const lines = random.list(4, () => random.list(6, () => [random.integer(0, 9), random.magnitude()]));
    const { places, columns } = joined(lines);
    assert.deepEqual(
      places,
      [...new Set(places)].toSorted((a, b) => a - b),
    );
    lines.forEach((points, number) => {
      const told = new Map(points);
      places.forEach((place, at) => assert.equal(columns[number][at], told.get(place)));
      assert.ok([...told.keys()].every((place) => places.includes(place)));
    });
  });
});

test("the value at the cursor is that of the last place before it", () => {
  assert.deepEqual(
    [-1, 0, 5, 10, 31].map((at) => indexAt([0, 10, 30], at)),
    [-1, 0, 0, 1, 2],
  );
  assert.equal(indexAt([], 5), -1);
});

test("the cursor goes to the next change, and to the one before", () => {
  const places = [0, 10, 10, 30];
  assert.deepEqual(
    [-1, 0, 10, 30].map((at) => nextPlace(places, at, 1)),
    [0, 10, 30, undefined],
  );
  assert.deepEqual(
    [31, 30, 10, 0].map((at) => nextPlace(places, at, -1)),
    [30, 10, 0, undefined],
  );
  assert.equal(nextPlace([], 5, 1), undefined);
});

test("no two of twelve series look the same, nor do neighbours share a colour or a shape", () => {
  const looks = Array.from({ length: 12 }, (_, index) => lookOf(index));
  assert.equal(new Set(looks.map((look) => JSON.stringify(look))).size, 12);
  looks.slice(1).forEach((look, index) => {
    assert.notEqual(look.colour, looks[index].colour);
    assert.notEqual(look.shape, looks[index].shape);
  });
  assert.deepEqual(lookOf(12), lookOf(0));
});
