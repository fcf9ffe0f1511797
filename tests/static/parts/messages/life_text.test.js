import assert from "node:assert/strict";
import test from "node:test";
import {
  sentenceOf,
  explanationOf,
  outcomeOf,
  resultSign,
  signOf,
  stateSign,
} from "../../../../static/parts/messages/life_text.js";
import {
  sentenceOf as sentenceOfZh,
  explanationOf as explanationOfZh,
} from "../../../../static/parts/messages/life_text.js?zh";

const lab = { now: () => 9_000_000, at: (us) => `${us}`, span: (us) => `${us} us` };
const live = { now: () => 9_000_000, at: (us) => `${us}`, span: (us) => `${us / 1e6} s` };

const place = {
  at_us: 1_000_000,
  broker: "B1",
  offset: 5,
  topic: "T",
  queue_id: 1,
  queue_offset: 7,
  reconsume_times: 2,
};
/** Kind of a copy -> for which groups it may be; null: for all. */
const kinds = {
  stored: [null],
  half: [null],
  "given-up": [null],
  due: [null, "g"],
  dead: ["g"],
  resent: [null, "g"],
  delayed: [null, "g"],
};
const copies = Object.entries(kinds).flatMap(([kind, groups]) =>
  groups.map((group) => ({ kind, group, ...place, level: 3, until_us: 4_000_000, resends: "id" })),
);
const marks = [
  { kind: "produced", at_us: 0, host: "10.0.0.1:5" },
  { kind: "produced", at_us: 0, event: 1, node: "P1" },
  { kind: "produced", at_us: 0, event: 1, node: "P1", batch: { count: 2, first: "a", last: "b" } },
  { kind: "refused", at_us: 0, event: 1, node: "P1", detail: "why" },
  { kind: "unknown", at_us: 0, event: 1, node: "P1", detail: "why" },
  ...copies,
  ...copies.map((mark) => ({ ...mark, lost: true })),
  { kind: "delivered", ...place, group: "g", node: "C1", attempt: 2, until_us: null, result: null },
  { kind: "delivered", ...place, group: "g", node: "C1", attempt: 2, until_us: 2_000_000, result: "success" },
];

/** A text that was found and filled in. */
const isWhole = (text) => text.length > 3 && !/[{}]|undefined|null|lab\.life/.test(text);

test("every mark of either world has a sign and a sentence of its own in both languages", () => {
  for (const clock of [lab, live])
    for (const mark of marks) {
      assert.ok(isWhole(sentenceOf(mark, clock)), sentenceOf(mark, clock));
      assert.ok(isWhole(sentenceOfZh(mark, clock)), sentenceOfZh(mark, clock));
      assert.notEqual(mark.kind === "delivered" ? resultSign(mark.result) : signOf(mark), "•");
    }
  const sentences = marks.map((mark) => `${mark.kind} ${mark.group} ${mark.lost} ${sentenceOf(mark, lab)}`);
  assert.equal(new Set(sentences).size, sentences.length);
});

test("a sentence has the spans of the world's clock, and a dash where the delay is not known", () => {
  const delayed = { kind: "delayed", group: null, ...place, level: 3, until_us: 4_000_000 };
  assert.match(sentenceOf(delayed, lab), /3000000 us/);
  assert.match(sentenceOf(delayed, live), /3 s/);
  assert.match(sentenceOf({ ...delayed, until_us: null }, live), /–/);
});

test("a live broker names where a message came from, the lab which node sent it", () => {
  assert.equal(sentenceOf(marks[0], live), "Produced at 10.0.0.1:5");
  assert.equal(sentenceOf(marks[1], lab), "P1 starts to send it");
});

const states = {
  lab: ["waiting", "delivering", "consumed", "failed", "delayed", "dead", "filtered", "skipped"],
  live: ["waiting", "held", "delivering", "delayed", "dead", "filtered", "passed", "unread"],
};
const known = { behind: 3, expression: "a || b", holder: "C@1" };

test("every state of a group in either world has a sign, a word and an explanation in both languages", () => {
  for (const [world, all] of Object.entries(states))
    for (const state of all) {
      const part = { state, until_us: null, ...(world === "live" ? known : { attempts: 1 }) };
      assert.notEqual(stateSign(state), "•");
      assert.ok(isWhole(outcomeOf(part, lab)), outcomeOf(part, lab));
      assert.ok(isWhole(explanationOf(part)), explanationOf(part));
      assert.ok(isWhole(explanationOfZh(part)), explanationOfZh(part));
    }
});

test("what only one world knows is said where it is known", () => {
  const part = (state) => ({ state, until_us: null, ...known });
  assert.match(explanationOf(part("waiting")), /3 before it/);
  assert.match(explanationOf(part("filtered")), /a \|\| b/);
  assert.match(explanationOf(part("held")), /^C@1 /);
  assert.match(explanationOf(part("delivering")), /C@1/);
  assert.equal(outcomeOf({ state: "failed", until_us: null, attempts: 2 }, lab), "failed (2 attempts)");
  assert.equal(outcomeOf({ state: "delayed", until_us: 10_500_000 }, live), "due in 1.5s");
  assert.equal(outcomeOf({ state: "delayed", until_us: null }, live), "delayed");
});
