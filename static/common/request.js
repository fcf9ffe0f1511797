// @ts-check
// A request to this page's own server, and why it has no answer.

import { sendRequest } from "./transport.js";
import { t } from "./i18n.js";
import { bilingual } from "./world/format.js";

/**
 * The answer of the server, or why it is missing; the `status` and the content of a `refusal`.
 *
 * @typedef {{ answer?: any, why?: string, status?: number, refusal?: any }} Answered
 */
/**
 * @param {string} method
 * @param {string} address
 * @param {object} [body] Bytes are sent as they are.
 * @returns {Promise<Answered>}
 */
export async function request(method, address, body) {
  try {
    const response = await sendRequest(address, {
      method,
      headers: { "Content-Type": "application/json" },
      body: body && (body instanceof ArrayBuffer ? body : JSON.stringify(body)),
    });
    const { status } = response;
    // The gate before the application answers these in plain text: the token is missing, or another site asks.
    if (status === 401 || status === 403) return { why: t(`live.half.not_allowed_${status}`), status };
    if (!response.headers.get("Content-Type")?.startsWith("application/json"))
      return { why: t("live.half.failed", { status }), status };
    const answer = await response.json();
    return response.ok ? { answer } : { why: bilingual(answer.text), status, refusal: answer };
  } catch (error) {
    return { why: t("live.search.unreachable", { why: error.message }) };
  }
}

/**
 * The answer alone. Throws an error that says why it is missing.
 *
 * @param {string} method
 * @param {string} address
 * @param {object} [body]
 */
export async function demand(method, address, body) {
  const { answer, why } = await request(method, address, body);
  if (why !== undefined) throw new Error(why);
  return answer;
}

/** @param {string} address */
export const get = (address) => request("GET", address);
/**
 * @param {string} address
 * @param {object} [body]
 */
export const post = (address, body) => request("POST", address, body);
