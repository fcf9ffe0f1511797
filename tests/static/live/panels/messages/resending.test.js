import assert from "node:assert/strict";
import test from "node:test";
import { sendAgain } from "/static/live/panels/messages/resending.js";

const failed = (count) => Array.from({ length: count }, (_, index) => ({ id: `m${index}`, error: "no place" }));

test("all failures are counted, also those that a report leaves out", async () => {
  const reports = [
    { resent: [{}], already: 2, failed: failed(50), failed_omitted: 14, next: 65 },
    { resent: [], already: 0, failed: failed(1), failed_omitted: 0, next: null },
  ];
  globalThis.fetch = async () => Response.json(reports.shift());
  const { report, why } = await sendAgain("shop", { messages: null, to: "topic", anyway: false });
  assert.deepEqual(report, { sent: 1, already: 2 });
  assert.match(why, /65/);
});
