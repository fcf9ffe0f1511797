import assert from "node:assert/strict";
import test from "node:test";
import {
  compare,
  entryAt,
  entryOf,
  framesUnderWay,
  indexAfter,
  journal,
  JOURNAL_KEPT,
  journalCut,
  nodeOfActor,
  receiveJournal,
} from "../../../../static/common/world/view.js";
import { forRandom } from "../../support/random_values.js";

const entry = (number, label = "send") => [number, number * 10, "P1->B1#2", label, number - 1];
const entries = (first, last, label) => Array.from({ length: last - first + 1 }, (_, at) => entry(first + at, label));
const numbers = () => journal.map(({ number }) => number);

test("names with numbers are in the order of the numbers", () => {
  const names = ["C10", "B2", "C9", "B10", "C1", "B1"];
  assert.deepEqual(names.sort(compare), ["B1", "B2", "B10", "C1", "C9", "C10"]);
  assert.deepEqual(["order-100", "order-20", "order-3"].sort(compare), ["order-3", "order-20", "order-100"]);
});

test("the order of names is one: it can be turned round, and holds from one to the next", () => {
  const pieces = ["B", "C", "1", "2", "10", "007", "-", "订", "é", "😀", " "];
  forRandom(1000, (random) => {
    const [a, b, c] = Array.from({ length: 3 }, () => random.list(4, () => random.pick(pieces)).join(""));
    assert.equal(Math.sign(compare(a, b)) + Math.sign(compare(b, a)), 0);
    if (compare(a, b) <= 0 && compare(b, c) <= 0) assert.ok(compare(a, c) <= 0);
    assert.equal(compare(a, a), 0);
  });
});

test("an actor's node is where it acts: a task's own, of a link the end that receives", () => {
  assert.deepEqual(["B1", "B1/flush", "P1->B1#2", "P1->B1", "C1/a/b"].map(nodeOfActor), ["B1", "B1", "B1", "B1", "C1"]);
});

test("entries come short or whole and are the same", () => {
  const whole = { number: 3, time_us: 30, actor: "B1/flush", label: "sync", cause: 2 };
  assert.deepEqual(entryOf(whole), entryOf([3, 30, "B1/flush", "sync", 2]));
  assert.equal(entryOf({ ...whole, node: "B2" }).node, "B2");
});

test("a batch replaces what comes after its beginning, and a gap remains a gap", () => {
  receiveJournal({ from: 0, entries: entries(1, 5) });
  receiveJournal({ from: 5, entries: entries(8, 9) });
  assert.deepEqual(numbers(), [1, 2, 3, 4, 5, 8, 9]);
  assert.deepEqual([indexAfter(0), indexAfter(5), indexAfter(7), indexAfter(8), indexAfter(99)], [0, 5, 5, 6, 7]);
  assert.deepEqual([entryAt(5)?.number, entryAt(6), entryAt(0), entryAt(10)], [5, undefined, undefined, undefined]);
  receiveJournal({ from: 3, entries: entries(4, 6, "other") });
  assert.deepEqual(numbers(), [1, 2, 3, 4, 5, 6]);
  assert.equal(entryAt(4).label, "other");
  assert.equal(journalCut.peek().number, 3);
});

test("another branch without entries cuts, and a continuation does not", () => {
  receiveJournal({ from: 0, entries: entries(1, 5) });
  const cut = journalCut.peek();
  receiveJournal({ from: 5, entries: entries(6, 7) });
  assert.equal(journalCut.peek(), cut);
  receiveJournal({ from: 2, entries: [] });
  assert.deepEqual([numbers(), journalCut.peek().number], [[1, 2], 2]);
});

test("whatever comes, numbers only grow, and the newest ones are kept", () => {
  forRandom(30, (random) => {
    receiveJournal({ from: 0, entries: [] });
    let last = 0;
    for (let step = 0; step < 20; step += 1) {
      const from = random.pick([last, last, last, random.integer(0, last)]);
      const first = from + random.integer(1, 3);
      last = first + random.integer(0, 3000);
      receiveJournal({ from, entries: entries(first, last) });
      assert.ok(journal.length <= JOURNAL_KEPT);
      assert.ok(journal.every(({ number }, index) => index === 0 || number > journal[index - 1].number));
      assert.equal(journal.at(-1).number, last);
    }
  });
});

test("frames under way were sent, have not arrived, and are not lost; the next to arrive is first", () => {
  const frame = (id, sent, arrives, dropped = false) => ({ id, sent_us: sent, arrives_us: arrives, dropped });
  const frames = [frame(1, 0, 10), frame(2, 5, 30), frame(3, 5, 20), frame(4, 11, 30), frame(5, 5, null, true)];
  assert.deepEqual(
    framesUnderWay({ frames, time_us: 10 }).map(({ id }) => id),
    [3, 2],
  );
});
