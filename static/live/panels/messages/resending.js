// @ts-check
// Requests that resend dead letters.

import { language, t } from "../../../common/i18n.js";
import { post } from "../../../common/request.js";

/** @param {Picture.DeadLetter[]} messages */
export const idsOf = (messages) => messages.map((message) => message.id);

/** All of a group go in portions, as many as one request may send. `why`: empty when all that could be sent was. */
export async function sendAgain(name, { messages, to, anyway }) {
  const report = { sent: 0, already: 0 };
  const failures = [];
  let omitted = 0;
  for (let from = 0; from !== null;) {
    const request =
      messages === null ? { messages: "all", to, start: from } : { messages: idsOf(messages), to, anyway };
    const { answer, why: refusal } = await post(`/api/live/dead-letters/${encodeURIComponent(name)}/resend`, request);
    if (refusal) return { report, why: refusal };
    report.sent += answer.resent.length;
    report.already += answer.already;
    for (const failed of answer.failed) failures.push(`${failed.id}: ${failed.text?.[language] ?? failed.error}`);
    omitted += answer.failed_omitted;
    from = answer.next;
  }
  const why =
    failures.length > 0
      ? t("live.dead.failed", { n: failures.length + omitted, sent: report.sent, why: failures.slice(0, 5).join("\n") })
      : "";
  return { report, why };
}
