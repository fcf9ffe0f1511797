// Texts in the page's language. The server sends one dictionary per page; a missing key shows as itself.

import { pageData } from "./page_data.js";

export const language = pageData.language;

/** The text for `key`, its {placeholders} filled. With `n`, English picks key.one or key.other. */
export function t(key, values = {}) {
  const texts = pageData.translations;
  const text = texts[key] ?? texts[`${key}.${values.n === 1 ? "one" : "other"}`] ?? key;
  return text.replace(/\{(\w+)\}/g, (placeholder, name) =>
    name in values ? (typeof values[name] === "number" ? formatCount(values[name]) : values[name]) : placeholder,
  );
}

const counts = new Intl.NumberFormat(language === "zh" ? "zh-CN" : "en");

function formatCount(value) {
  return counts.format(value);
}
