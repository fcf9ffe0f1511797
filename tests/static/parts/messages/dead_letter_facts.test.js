import assert from "node:assert/strict";
import test from "node:test";
import { columnsOf, nameOf, placeOf, resendFacts } from "../../../../static/parts/messages/dead_letter_facts.js";

const resent = { topic: "Orders", queue_id: 1, queue_offset: 7, offset: 900, at_us: 5 };
const letter = (facts = {}) => ({
  queue_id: 0,
  queue_offset: 3,
  id: "offset-id",
  unique_id: "unique-id",
  keys: ["order-3"],
  topic: "Orders",
  last_result: null,
  resent: null,
  ...facts,
});
const names = (columns) => columns.map(({ name }) => name);

test("a column of results is there only where one is known, a column of actions only where there are some", () => {
  const calm = names(columnsOf([letter()], true));
  const known = names(columnsOf([letter(), letter({ last_result: "throws" })], true));
  assert.deepEqual(
    known.filter((name) => !calm.includes(name)),
    ["lab.dead.col_why"],
  );
  assert.deepEqual(
    calm.filter((name) => !names(columnsOf([], false)).includes(name)),
    ["word.action"],
  );
});

test("a dead letter is called by its key, else by an id", () => {
  assert.equal(nameOf(letter()), "order-3");
  assert.equal(nameOf(letter({ keys: [] })), "unique-id");
  assert.equal(nameOf(letter({ keys: [], unique_id: null })), "offset-id");
});

test("a place says its queue only where that is not queue 0", () => {
  assert.equal(placeOf(letter({ queue_offset: 1234 })), "1,234");
  assert.equal(placeOf(letter({ queue_id: 2 })), "Q2 3");
});

test("what was resent before is resent only anyway", () => {
  const [open, again] = [letter(), letter({ resent, topic: null })];
  const facts = (messages, anyway = false) => resendFacts({ messages, anyway });
  assert.deepEqual(facts([open, again]), { again: 1, topics: ["Orders", "–"], isReady: true });
  assert.deepEqual(facts([again]), { again: 1, topics: ["–"], isReady: false });
  assert.equal(facts([again], true).isReady, true);
  assert.deepEqual(facts(null), { again: 0, topics: [], isReady: true });
});
