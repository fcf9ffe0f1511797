import assert from "node:assert/strict";
import test from "node:test";
import { firstAtOrAfter, firstNot } from "../../../static/common/binary_search.js";
import { forRandom } from "../support/random_values.js";

test("finds what a search from the beginning finds", () => {
  forRandom(500, (random) => {
    const entries = random.list(20, () => ({ time: random.integer(-5, 15) })).sort((a, b) => a.time - b.time);
    const time = random.integer(-8, 18);
    const wanted = entries.findIndex((entry) => entry.time >= time);
    assert.equal(firstAtOrAfter(entries, time), wanted < 0 ? entries.length : wanted);
  });
});

test("the first of equal ones is found; none of none", () => {
  assert.equal(
    firstNot((value) => value < 3, [1, 3, 3, 3]),
    1,
  );
  assert.equal(
    firstNot(() => true, []),
    0,
  );
  assert.equal(
    firstNot(() => true, [1, 2]),
    2,
  );
});

test("few entries are looked at", () => {
  let looks = 0;
  firstNot(
    (value) => (looks++, value < 700_000),
    Array.from({ length: 2 ** 20 }, (_, value) => value),
  );
  assert.ok(looks <= 21);
});
