// @ts-check
// A request to this page's own server, and why it has no answer.

import { sendRequest } from "./transport.js";
import { language, t } from "./i18n.js";

/**
 * The answer of the server, or why it is missing.
 *
 * @param {string} method
 * @param {string} address
 * @param {object} [body]
 * @returns {Promise<{ answer?: any, why?: string }>}
 */
export async function request(method, address, body) {
  try {
    const response = await sendRequest(address, {
      method,
      headers: { "Content-Type": "application/json" },
      body: body && JSON.stringify(body),
    });
    // The gate before the application answers these in plain text: the token is missing, or another site asks.
    if (response.status === 401 || response.status === 403)
      return { why: t(`live.half.not_allowed_${response.status}`) };
    if (!response.headers.get("Content-Type")?.startsWith("application/json"))
      return { why: t("live.half.failed", { status: response.status }) };
    const answer = await response.json();
    return response.ok ? { answer } : { why: answer.text?.[language] ?? answer.error };
  } catch (error) {
    return { why: t("live.search.unreachable", { why: error.message }) };
  }
}

/**
 * @param {string} address
 * @param {object} body
 */
export const post = (address, body) => request("POST", address, body);
