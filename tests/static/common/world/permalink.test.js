import assert from "node:assert/strict";
import test from "node:test";
import { requestOfAddress } from "../../../../static/common/world/permalink.js";

const requestOf = (address) => requestOfAddress(new URL(address, "http://localhost:8000"));

test("an address names scenario, seed, world and the link of a run", () => {
  assert.deepEqual(requestOf("/lab"), {});
  assert.deepEqual(requestOf("/lab/three-locks"), { scenario: "three-locks" });
  assert.deepEqual(requestOf("/lab/three-locks?seed=7"), { scenario: "three-locks", seed: 7 });
  assert.deepEqual(requestOf("/lab/?world=w1#abc-_1"), { world: "w1", link: "abc-_1" });
  assert.deepEqual(requestOf("/lab/x?exact=1#l"), { scenario: "x", link: "l", exact: true });
});

test("a scenario's name may have any letters", () => {
  assert.deepEqual(requestOf(`/lab/${encodeURIComponent("三 锁/%")}`), { scenario: "三 锁/%" });
});

test("a percent sign that encodes nothing stands for itself", () => {
  assert.deepEqual(requestOf("/lab/100%zz"), { scenario: "100%zz" });
});

test("a seed is a whole number, or none", () => {
  for (const seed of ["", "-1", "1.5", "1e3", "x", "0x10", "٣"])
    assert.deepEqual(requestOf(`/lab/x?seed=${seed}`), { scenario: "x" });
  assert.deepEqual(requestOf(`/lab/x?seed=${Number.MAX_SAFE_INTEGER}`).seed, Number.MAX_SAFE_INTEGER);
  assert.equal(requestOf("/lab/x?seed=0").seed, 0);
});

test("only a link says that it is exact", () => {
  assert.deepEqual(requestOf("/lab/x?exact=1"), { scenario: "x" });
});
