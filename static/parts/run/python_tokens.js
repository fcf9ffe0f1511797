// @ts-check
// Just enough of Python's grammar to set comments, strings, keywords and names of definitions apart, line by line.

import { html } from "htm/preact";

const KEYWORDS =
  "async await def class return if elif else for while in not and or is None True False try except finally " +
  "raise with as import from yield assert match case break continue pass lambda del";
const COMMENT = /(#.*$)/;
const STRING = /([rbf]{0,2}"""|'''|[rbf]{0,2}"(?:[^"\\]|\\.)*"|[rbf]{0,2}'(?:[^'\\]|\\.)*')/;
const KEYWORD = new RegExp(`\\b(${KEYWORDS.replaceAll(" ", "|")})\\b`);
const DECORATOR = /(@\w[\w.]*)/;
const TOKEN = new RegExp([COMMENT, STRING, KEYWORD, DECORATOR].map((part) => part.source).join("|"), "g");

export function colourLine(text) {
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > at) parts.push(text.slice(at, match.index));
    const kind = match[1]
      ? "comment"
      : match[2]
        ? "string"
        : match[3]
          ? match[3] === "await"
            ? "await"
            : "keyword"
          : "decorator";
    parts.push(html`<span class=${`py-${kind}`}>${match[0]}</span>`);
    at = match.index + match[0].length;
  }
  parts.push(text.slice(at));
  return parts;
}
