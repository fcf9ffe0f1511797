import assert from "node:assert/strict";
import test from "node:test";
import { language, t } from "../../../static/common/i18n.js";
import { language as other, t as inChinese } from "../../../static/common/i18n.js?zh";

test("a page has its language, and its texts", () => {
  assert.deepEqual([language, other], ["en", "zh"]);
  assert.deepEqual([t("word.close"), inChinese("word.close")], ["Close", "关闭"]);
});

test("a key without a text shows as itself, also one that every object has", () => {
  for (const key of ["no.such.key", "constructor", "toString"]) assert.equal(t(key), key);
});

test("placeholders are filled, numbers with groups of digits, and what is not given stays", () => {
  assert.equal(t("{a} of {b}, {c}", { a: 1234567, b: "$&", c: "x{a}" }), "1,234,567 of $&, x{a}");
  assert.equal(t("{a} {b}", { a: 0 }), "0 {b}");
});

test("a word follows its number", () => {
  const text = "{n} {n:message|messages}";
  assert.deepEqual(
    [0, 1, 2, -1].map((n) => t(text, { n })),
    ["0 messages", "1 message", "2 messages", "-1 messages"],
  );
});
