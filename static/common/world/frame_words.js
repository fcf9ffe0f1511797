// @ts-check
// What a frame is called, and which sign it has.
//
//   request: filled circle    response: open square    one way: triangle    connection: small dot    lost: a cross

import { t } from "../i18n.js";

/** @param {Picture.Frame} frame */
export const frameShape = (frame) =>
  frame.dropped
    ? "lost"
    : frame.kind === "response"
      ? "response"
      : frame.is_oneway
        ? "oneway"
        : frame.kind === "request"
          ? "request"
          : "signal";

/**
 * "SEND_MESSAGE_V2", "reply to SEND_MESSAGE_V2", "connection request"
 *
 * @param {Picture.Frame} frame
 */
export function frameName(frame) {
  if (frame.kind === "response")
    return frame.reply_to_name ? t("lab.frame.reply", { name: frame.reply_to_name }) : frame.name;
  return ["connect", "accept", "close"].includes(frame.kind) ? t(`lab.frame.${frame.kind}`) : frame.name;
}

/**
 * "send", "↩ send": what fits next to the link.
 *
 * @param {Picture.Frame} frame
 */
export function shortName(frame) {
  if (frame.action) return frame.action.toLowerCase();
  const name = frame.kind === "response" ? `↩ ${frame.reply_to_name ?? ""}` : frameName(frame);
  return name
    .replace(/_MESSAGE(_V2)?|CONSUMER_|_BY_TOPIC|_INFO/g, "")
    .toLowerCase()
    .replaceAll("_", " ");
}

/**
 * @param {Picture.Frame} frame
 * @param {number} now
 */
export const isUnderWay = (frame, now) => !frame.dropped && frame.sent_us <= now && frame.arrives_us > now;
