// Resolves imports as the page's import map does. What the server makes for a page, its texts and what it writes into
// the document, are modules of this folder instead.
//
// A module imported with "?zh" is loaded with everything that it imports as on a Chinese page.

import { readFileSync } from "node:fs";

const PROJECT = new URL("../../../", import.meta.url);
const STATIC = new URL("static/", PROJECT).href;
const { imports } = JSON.parse(readFileSync(new URL("static/vendor/import-map.json", PROJECT), "utf8"));
const TEXTS = new URL("texts.js", import.meta.url).href;
const PAGE_DATA = new URL("page_data.js", import.meta.url).href;

export async function resolve(specifier, context, nextResolve) {
  const address = specifier === "glassmq/texts" ? TEXTS : (imports[specifier] ?? specifier);
  const wanted = address.startsWith("/static/") ? new URL(`.${address}`, PROJECT).href : address;
  const found = await nextResolve(wanted, context);
  const url = new URL(found.url === `${STATIC}common/page_data.js` ? PAGE_DATA : found.url);
  const isOfPage = [TEXTS, PAGE_DATA].includes(url.href) || url.href.startsWith(STATIC);
  if (isOfPage && [specifier, context.parentURL ?? ""].some((one) => one.endsWith("?zh"))) url.search = "zh";
  return { ...found, url: url.href };
}
