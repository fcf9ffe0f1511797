// Resolves imports as the page's import map does. The module with the page's data, which a browser reads from the
// document, is replaced by one with the same texts, as the site without a server replaces it.
//
// A module imported with "?zh" is loaded with everything that it imports as on a Chinese page.

import { readFileSync } from "node:fs";

const PROJECT = new URL("../../../", import.meta.url);
const { imports } = JSON.parse(readFileSync(new URL("static/vendor/import-map.json", PROJECT), "utf8"));
const PAGE_DATA = new URL("static/common/page_data.js", PROJECT).href;

export async function resolve(specifier, context, nextResolve) {
  const address = imports[specifier] ?? specifier;
  const wanted = address.startsWith("/static/") ? new URL(`.${address}`, PROJECT).href : address;
  const found = await nextResolve(wanted, context);
  if (!found.url.startsWith(new URL("static/", PROJECT).href)) return found;
  const url = new URL(found.url === PAGE_DATA ? new URL("page_data.js", import.meta.url) : found.url);
  const isChinese = [specifier, context.parentURL ?? ""].some((one) => one.endsWith("?zh"));
  if (isChinese) url.search = "zh";
  return { ...found, url: url.href };
}
