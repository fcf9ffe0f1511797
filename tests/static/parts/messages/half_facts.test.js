import assert from "node:assert/strict";
import test from "node:test";
import { actionsOf, currentOf, halfName } from "../../../../static/parts/messages/half_facts.js";

const half = { id: "a", key: "transfer-1", decided_by: null };
const givenUp = { id: "a", key: "transfer-1", given_up_us: 9 };

test("a half message is committed or rolled back, one that was given up is checked again", () => {
  assert.deepEqual(actionsOf(half), ["commit", "rollback"]);
  assert.deepEqual(actionsOf(givenUp), ["resume"]);
});

test("the newest copy of a message counts, and the one that was opened where there is none", () => {
  const newer = { ...half, decided_by: 3 };
  assert.equal(currentOf({ messages: [half, newer], given_up: [] }, half), newer);
  assert.equal(currentOf({ messages: [{ ...half, id: "b" }], given_up: [givenUp] }, half), givenUp);
  assert.equal(currentOf({ messages: [], given_up: [] }, half), half);
  assert.equal(currentOf(undefined, half), half);
});

test("a half message is called by its key, else by its id", () => {
  assert.equal(halfName(half), "transfer-1");
  assert.equal(halfName({ ...half, key: "" }), "a");
});
