import assert from "node:assert/strict";
import test from "node:test";
import { bilingual, printable, shortMs, span, speedText, virtualTime } from "../../../../static/common/world/format.js";
import * as chinese from "../../../../static/common/world/format.js?zh";
import { forRandom } from "../../support/random_values.js";

test("virtual time has microseconds, all six digits of them", () => {
  assert.equal(virtualTime(12_345_678), "12.345\u2009678");
  assert.deepEqual([0, -5, 1, 999_999.6].map(virtualTime), [
    "0.000\u2009000",
    "0.000\u2009000",
    "0.000\u2009001",
    "1.000\u2009000",
  ]);
  forRandom(500, (random) => {
    const time = Math.min(Number.MAX_SAFE_INTEGER, random.magnitude(16));
    assert.equal(Number(virtualTime(time).replace(/[.\u2009]/g, "")), time);
  });
});

test("a time that is not known is a dash", () => {
  assert.deepEqual([undefined, NaN].map(virtualTime), ["–", "–"]);
});

test("a span has the unit in which it is short", () => {
  assert.deepEqual([-1, 0, 850, 999, 2500].map(span), ["0 µs", "0 µs", "850 µs", "999 µs", "2.5 ms"]);
  assert.deepEqual([99_960, 250_499, 20_000_000].map(span), ["100 ms", "250 ms", "20 s"]);
});

test("a span that is rounded up to a whole unit is that unit", () => {
  assert.deepEqual([999.6, 999_499, 999_500].map(span), ["1 ms", "999 ms", "1 s"]);
  assert.deepEqual([999.6, 59_940, 59_960, 3_597_100].map(shortMs), ["1s", "59.9s", "1m", "1h"]);
});

test("delay levels are short", () => {
  assert.deepEqual([0, 1000, 20_000, 90_000, 7_200_000].map(shortMs), ["0ms", "1s", "20s", "1.5m", "2h"]);
});

test("a longer span is never shown as a shorter one", () => {
  const factors = { µs: 1, ms: 1e3, s: 1e6 };
  const shown = (text) => Number(text.split(" ")[0]) * factors[text.split(" ")[1]];
  forRandom(2000, (random) => {
    const [time, more] = [random.magnitude(9), random.magnitude(9)];
    assert.ok(shown(span(time)) <= shown(span(time + more)));
    assert.ok(Math.abs(shown(span(time)) - time) <= 0.05 * time, `${span(time)} for ${time}`);
  });
});

test("speeds are short, and one that is a word stays as it is", () => {
  assert.deepEqual([0.01, 0.25, 1, 2.25, 1000, "auto"].map(speedText), [
    "0.01×",
    "0.3×",
    "1×",
    "2.3×",
    "1000×",
    "auto",
  ]);
});

test("a text is in the page's language, else in English, else nothing", () => {
  const texts = [{ en: "lock", zh: "锁" }, { en: "lock" }, "B1", null, undefined, {}];
  assert.deepEqual(texts.map(bilingual), ["lock", "lock", "B1", "", "", ""]);
  assert.deepEqual(texts.map(chinese.bilingual), ["锁", "lock", "B1", "", "", ""]);
});

test("bytes that are no text are dots; tabs, line ends and words of any language are text", () => {
  assert.equal(printable("a\u0000b\u007f\u0085\ufffd"), "a·b···");
  assert.equal(printable("\t订单\n😀"), "\t订单\n😀");
});
