// @ts-check
// The small marks that stand for topics, groups and languages everywhere on the page.

import { html } from "htm/preact";
import { groupMark, letterDy, topicMark } from "../../common/palette.js";

/** The topic's two-letter code on its colour. @param {{ topic: string }} props */
export function TopicMark({ topic }) {
  const mark = topicMark(topic);
  return html`<span class=${`topic-mark tone-${mark.tone}`} aria-hidden="true">${mark.code}</span>`;
}

/** The group's letter in its shape; `size` in rem, so that it grows with the text.
    @param {{ group: string, size?: number }} props */
export const GroupMark = ({ group, size }) =>
  html`<${Mark} kind=${`tone-${groupMark(group).tone}`} size=${size}><${GroupShape} group=${group} /></${Mark}>`;

/** @param {{ kind?: string, size?: number, children?: any }} props */
const Mark = ({ kind = "", size = 1.4, children }) =>
  html`<svg
    class=${`group-mark ${kind}`} width=${`${size}rem`} height=${`${size}rem`} viewBox="-10 -10 20 20"
    aria-hidden="true"
  >
    ${children}
  </svg>`;

/** The same, for use inside another drawing, around the point (0, 0), about 18 wide.
    @param {{ group: string }} props */
export function GroupShape({ group }) {
  const mark = groupMark(group);
  return html`<g class=${`tone-${mark.tone}`}>
    <path class="group-shape" d=${mark.shape} transform="scale(7.4)" vector-effect="non-scaling-stroke" />
    <text class="group-letter" text-anchor="middle" dy=${letterDy(mark)}>${mark.letter}</text>
  </g>`;
}

/** The mark of a job on Spark: a star, as no group has it. @param {{ size?: number }} props */
export const SparkMark = ({ size }) => html`<${Mark} size=${size}><${SparkShape} /></${Mark}>`;

/** The same, for use inside another drawing, around the point (0, 0), 18 wide. */
export function SparkShape() {
  return html`<g class="spark-mark">
    <path class="spark-shape" d=${STAR} /><text class="spark-letter" text-anchor="middle" dy=".36em">S</text>
  </g>`;
}

/** Eight points around the letter. */
const STAR =
  Array.from({ length: 16 }, (_, index) => {
    const [radius, angle] = [index % 2 ? 6.3 : 9, (index * Math.PI) / 8 - Math.PI / 2];
    return `${index ? "L" : "M"}${(radius * Math.cos(angle)).toFixed(2)} ${(radius * Math.sin(angle)).toFixed(2)}`;
  }).join("") + "Z";

/** Languages that are written otherwise than clients write them. @type {Record<string, string>} */
const LANGUAGES = {
  JAVA: "Java",
  CPP: "C++",
  DOTNET: ".NET",
  PYTHON: "Python",
  DELPHI: "Delphi",
  ERLANG: "Erlang",
  RUBY: "Ruby",
  GO: "Go",
  RUST: "Rust",
  NODE_JS: "Node",
};

/** @param {{ language: string | null | undefined }} props */
export function LanguageBadge({ language }) {
  if (!language) return null;
  return html`<span class=${`language language-${language.toLowerCase()}`}>${LANGUAGES[language] ?? language}</span>`;
}

/** What to do next, where there is nothing to see yet. @param {{ title: string, children?: any }} props */
export function Empty({ title, children }) {
  return html`<div class="empty"><p class="empty-title">${title}</p>${children}</div>`;
}

/** A command to copy; it breaks between its words only. @param {{ text: string }} props */
export function Command({ text }) {
  return html`<code class="command">
    ${text.split(" ").map((word, index) => html`${index > 0 && " "}<span>${word}</span>`)}
  </code>`;
}
