// @ts-check
// A text of the lesson in the page's language. The server has made safe HTML of it.

import { h } from "htm/preact";
import { bilingual } from "../common/world/format.js";

/** Names up to this length stay in one line. */
const SHORT = 16;

/** `text`: { en, zh }, HTML. `as`: the element that holds it. */
export const Prose = ({ text, as = "div", ...rest }) =>
  h(as, { ...rest, dangerouslySetInnerHTML: { __html: bilingual(text).replace(/<code>([^<]*)<\/code>/g, codeOf) } });

/** Long names may break, but between their words: suspend|Current|Queue. */
const codeOf = (_, name) =>
  name.length <= SHORT
    ? `<code class="is-short">${name}</code>`
    : `<code>${name.replace(/([a-z])(?=[A-Z])|([._])/g, "$&<wbr>")}</code>`;
