// @ts-check
// Texts in the page's language, a module that the server makes; a missing key shows as itself.

import texts from "glassmq/texts";
import { pageData } from "./page_data.js";

export const language = pageData.language;
const counts = new Intl.NumberFormat(language === "zh" ? "zh-CN" : "en");

/** {name}, or {name:one|several}: the word for a number. */
const PLACEHOLDER = /\{(\w+)(?::([^{|}]*)\|([^{|}]*))?\}/g;

/**
 * The text for `key`, its {placeholders} filled.
 *
 * @param {string} key
 * @param {Record<string, any>} values
 * @returns {string}
 */
export function t(key, values = {}) {
  const text = Object.hasOwn(texts, key) ? texts[key] : key;
  return text.replace(PLACEHOLDER, (placeholder, name, one, several) => {
    if (!(name in values)) return placeholder;
    const value = values[name];
    if (one !== undefined) return value === 1 ? one : several;
    return typeof value === "number" ? counts.format(value) : value;
  });
}
