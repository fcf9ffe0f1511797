import assert from "node:assert/strict";
import test from "node:test";
import * as english from "../../../static/common/format.js";
import * as chinese from "../../../static/common/format.js?zh";
import { forRandom } from "../support/random_values.js";

const { bytes, clientVersion, clockTime, compact, count, dateTime, microseconds, milliseconds } = english;
const { fitted, rangesText, roundStep, span, typedKey } = english;

test("what is not known, or not a number, is a dash", () => {
  for (const print of [count, compact, bytes, microseconds, milliseconds, span, clockTime])
    for (const value of [null, undefined, NaN]) assert.equal(print(value), "–", `${print.name} of ${value}`);
});

test("counts have groups of three digits, up to the last exact integer", () => {
  assert.equal(count(0), "0");
  assert.equal(count(-1234567), "-1,234,567");
  assert.equal(count(Number.MAX_SAFE_INTEGER), "9,007,199,254,740,991");
});

test("ranges of numbers show both ends, a single number itself, and a sign for those that are left out", () => {
  const ranges = [
    [3, 3],
    [5, 7],
    [9, 12],
  ];
  assert.equal(rangesText(ranges), "3, 5–7, 9–12");
  assert.equal(rangesText(ranges, 3), "3, 5–7, 9–12");
  assert.equal(rangesText(ranges, 2), "3, 5–7, …");
  assert.equal(rangesText([]), "");
});

test("compact numbers are whole below ten thousand", () => {
  assert.deepEqual([0, 9999, -9999, 9999.6, 10_000].map(compact), ["0", "9,999", "-9,999", "10K", "10K"]);
  assert.deepEqual([1234567, -1234567].map(compact), ["1.23M", "-1.23M"]);
  assert.deepEqual([9999, 1234567].map(chinese.compact), ["9,999", "123万"]);
});

test("a figure in a column is whole where it fits, and otherwise short: never cut off", () => {
  assert.deepEqual(
    [2741, 99_999_999, null].map((value) => fitted(value, 10)),
    ["2,741", "99,999,999", "–"],
  );
  for (const { fitted: print } of [english, chinese])
    forRandom(200, (random) => {
      const [value, most] = [random.magnitude(), random.integer(6, 20)];
      assert.ok(print(value, most).length <= most, `${print(value, most)} in ${most}`);
    });
});

test("sizes have the unit in which less than a thousand is shown", () => {
  assert.deepEqual([0, 999, 1000, 1536].map(bytes), ["0 B", "999 B", "1 kB", "1.54 kB"]);
  assert.deepEqual([999_499, 999_500, 999_999].map(bytes), ["999 kB", "1 MB", "1 MB"]);
  assert.deepEqual([-5000, -999_999, 2 ** 53].map(bytes), ["-5 kB", "-1 MB", "9,010 TB"]);
});

test("durations have the unit in which less than a thousand is shown", () => {
  assert.deepEqual([0, 85, 999, 999.7, 1240].map(microseconds), ["0 µs", "85 µs", "999 µs", "1 ms", "1.24 ms"]);
  assert.deepEqual([999_499, 999_999, 2_100_000].map(microseconds), ["999 ms", "1 s", "2.1 s"]);
  assert.deepEqual([-85, -5000].map(microseconds), ["-85 µs", "-5 ms"]);
  assert.deepEqual([0, 1, 999, 1000].map(milliseconds), ["0 ms", "1 ms", "999 ms", "1 s"]);
});

test("a larger size or duration is never shown as a smaller one", () => {
  const factors = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, µs: 1, ms: 1e3, s: 1e6 };
  const shown = (text) => {
    const [number, unit] = text.split(" ");
    return Number(number.replaceAll(",", "")) * factors[unit];
  };
  forRandom(2000, (random) => {
    const value = random.magnitude();
    for (const print of [bytes, microseconds]) {
      const error = Math.abs(shown(print(value)) - value);
      assert.ok(error <= 0.0051 * value, `${print.name}(${value}) is ${print(value)}`);
      assert.ok(shown(print(value)) <= shown(print(value + random.magnitude())));
    }
  });
});

test("spans are coarse, and nothing is shorter than none", () => {
  assert.deepEqual([0, -5000, 400, 12_000, 99_400].map(span), ["0 s", "0 s", "0 s", "12 s", "99 s"]);
  assert.deepEqual([200_000, 99 * 60_000, 7_500_000].map(span), ["3 min", "99 min", "2 h 5 min"]);
});

test("the time of a clock has two digits each, and three of milliseconds", () => {
  const time = new Date(2026, 0, 2, 3, 4, 5, 6).getTime() * 1000;
  assert.equal(clockTime(time), "03:04:05");
  assert.equal(clockTime(time, true), "03:04:05.006");
});

test("a time of another day says its day, in the one format of the pages", (context) => {
  const time = new Date(2026, 0, 2, 3, 4, 5, 6).getTime() * 1000;
  assert.equal(dateTime(time), "2026-01-02 03:04:05");
  assert.equal(dateTime(time, true), "2026-01-02 03:04:05.006");
  context.mock.method(Date, "now", () => new Date(2026, 0, 2, 23, 59).getTime());
  assert.equal(dateTime(time), "03:04:05");
  for (const none of [0, -1, Infinity, 2 ** 63 * 1000]) assert.equal(dateTime(none), "–");
});

test("a time that no clock shows is a dash", () => {
  for (const time of [0, -1, Infinity, 8.64e18 + 1e4, 2 ** 63 * 1000]) assert.equal(clockTime(time, true), "–");
});

test("the step of an axis is 1, 2 or 5 times a power of ten, and the smallest that is not below the least", () => {
  assert.deepEqual([0.03, 1, 1.1, 2, 3, 7, 1000, 5001].map(roundStep), [0.05, 1, 2, 2, 5, 10, 1000, 10_000]);
  forRandom(2000, (random) => {
    const least = random.magnitude() * 10 ** -random.integer(0, 9);
    const step = roundStep(least);
    assert.ok(step >= least && step <= 2.5 * least * (1 + 1e-9), `${step} for ${least}`);
    assert.match(Number(step.toPrecision(12)).toExponential(), /^[125]e/);
  });
});

test("an axis without length has a step all the same, so that a loop over its marks ends", () => {
  for (const least of [0, -3, NaN]) assert.equal(roundStep(least), 1);
});

test("versions are known by their ordinal", () => {
  assert.deepEqual([409, 999].map(clientVersion), ["4.9.8", "#999"]);
});

test("only spaces around a key are taken off", () => {
  assert.equal(typedKey("  order 1 "), "order 1");
  assert.equal(typedKey("\u3000key\t"), "\u3000key\t");
  assert.equal(typedKey("   "), "");
});
