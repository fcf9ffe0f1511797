import assert from "node:assert/strict";
import test from "node:test";
import {
  EMPTY_HISTORY,
  historyOf,
  HISTORY_SECONDS,
  rateOf,
  withSecond,
} from "../../../../static/common/cluster/history.js";
import { forRandom } from "../../support/random_values.js";

test("the history begins with the broker", () => {
  const history = historyOf({ begin_us: [998e6, 999e6, 1000e6, 1001e6], in_messages: [0, 0, 3, 4] }, 1_000_400);
  assert.deepEqual(
    [history.seconds, history.in_messages],
    [
      [1000, 1001],
      [3, 4],
    ],
  );
  assert.deepEqual(history.backlog, [null, null]);
});

test("a snapshot without history is an empty one", () => {
  for (const sent of [null, undefined, {}, { begin_us: [] }]) assert.deepEqual(historyOf(sent), EMPTY_HISTORY);
});

test("the history goes on when the broker's clock was set back", () => {
  const before = historyOf({ begin_us: [100e6, 101e6, 102e6, 103e6], in_messages: [1, 2, 3, 4] });
  const history = withSecond(before, { begin_us: 102e6, in_messages: 9 });
  assert.deepEqual(
    [history.seconds, history.in_messages],
    [
      [100, 101, 102],
      [1, 2, 9],
    ],
  );
});

test("a second without messages has no latency", () => {
  assert.equal(rateOf({ in_messages: 0, put_p50_us: 0 }, "put_p50_us"), null);
  assert.equal(rateOf({ in_messages: 1, put_p50_us: 0 }, "put_p50_us"), 0);
  assert.equal(rateOf({ in_messages: 0 }, "in_messages"), 0);
});

test("a gap breaks the line, and a long one begins it again", () => {
  const first = withSecond(EMPTY_HISTORY, { begin_us: 10e6, backlog: 1 });
  assert.deepEqual(withSecond(first, { begin_us: 13e6, backlog: 2 }).seconds, [10, 13]);
  const broken = withSecond(first, { begin_us: 14e6, backlog: 2 });
  assert.deepEqual(
    [broken.seconds, broken.backlog],
    [
      [10, 11, 14],
      [1, null, 2],
    ],
  );
  assert.deepEqual(withSecond(first, { begin_us: (11 + HISTORY_SECONDS) * 1e6 }).seconds, [11 + HISTORY_SECONDS]);
});

test("a second that is there already, or none, changes nothing", () => {
  const history = withSecond(EMPTY_HISTORY, { begin_us: 10e6 });
  for (const rates of [{ begin_us: 10e6 }, {}, undefined, { begin_us: NaN }])
    assert.equal(withSecond(history, rates), history);
});

test("columns are as long as the seconds, which only grow and are ten minutes at most", () => {
  forRandom(20, (random) => {
    let [history, second] = [EMPTY_HISTORY, 0];
    for (let step = 0; step < 800; step += 1) {
      second += random.pick([0, 1, 1, 1, 1, 1, 2, 5, -3, step === 400 ? 700 : 1]);
      history = withSecond(history, { begin_us: second * 1e6, in_messages: random.integer(0, 3), put_p50_us: 5 });
    }
    const { seconds } = history;
    assert.ok(seconds.length <= HISTORY_SECONDS);
    assert.ok(seconds.every((one, index) => index === 0 || one > seconds[index - 1]));
    for (const column of Object.values(history)) assert.equal(column.length, seconds.length);
  });
});
