// @ts-check
// A log as a strip of blocks: of any log, and of a broker's commit log on both pages.

import { html } from "htm/preact";
import { bytes, count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { topicMark } from "../../common/palette.js";
import { Roving } from "../../common/roving.js";

/** A log as a strip of blocks, the newest on the right. `isCut`: there are older blocks than those shown. `none`:
 *  what is written while there is no block.
 *
 * @param {{ label: string, none: unknown, isCut?: boolean, blocks: unknown[], children?: unknown }} props
 */
export const LogStrip = ({ label, none, isCut = false, blocks, children }) =>
  html`<${Roving} class="log-blocks" role="group" aria-label=${label}>
    ${blocks.length === 0 && html`<span class="strip-empty">${none}</span>`}
    ${isCut && html`<span class="quiet">…</span>`}
    ${blocks}${children}
  </${Roving}>`;

/** `code` and `offset`: what is written on the block.
    @param {{ class: string, label: string, title?: string, code: unknown, offset: unknown,
      [property: string]: unknown }} props */
export const LogBlock = ({ class: kind, label, title = label, code, offset, ...rest }) =>
  html`<button
    type="button" class=${`block ${kind}`} tabindex="-1" data-roving aria-label=${label} title=${title} ...${rest}
  >
    <span class="block-code">${code}</span><span class="block-offset">${offset}</span>
  </button>`;

/**
 * A record of the commit log. `lines`: of its title, the first of them its name; `separator` joins them.
 *
 * @param {{ record: Picture.StoredRecord, isFlushed: boolean, lines: string[], separator?: string, class?: string,
 *   code: unknown, offset: unknown, [property: string]: any }} properties
 */
export const RecordBlock = ({ record, isFlushed, lines, separator = "\n", class: kind = "", ...rest }) =>
  html`<${LogBlock}
    class=${`tone-${topicMark(record.topic).tone} ${isFlushed ? "" : "is-unflushed"} ${kind}`} label=${lines[0]}
    title=${[...lines, ...(isFlushed ? [] : [t("commit_log.not_flushed")])].join(separator)} ...${rest}
  />`;

/** A figure of the commit log under its word.
    @param {{ name: string, value: string, kind?: string }} props */
const Figure = ({ name, value, kind = "" }) =>
  html`<span class=${`figure ${kind}`} title=${t(`commit_log.${name}_hint`)}>
    <span class="quiet">${t(`commit_log.${name}`)}</span> <span class="number">${value}</span>
  </span>`;

/**
 * Where a commit log ends, and how much of it is not flushed and not in the consume queues yet.
 *
 * @param {{ log: Picture.LogOffsets, kinds?: { unflushed?: string, undispatched?: string },
 *   hasQueues: boolean }} properties
 */
export const LogFigures = ({ log, kinds = {}, hasQueues }) =>
  html`
    <${Figure} name="end" value=${count(log.max)} />${" "}
    <${Figure} name="unflushed" value=${bytes(Math.max(0, log.max - log.flushed))} kind=${kinds.unflushed} />
    ${
      hasQueues &&
      html`<${Figure}
        name="undispatched" value=${bytes(Math.max(0, log.max - log.dispatched))} kind=${kinds.undispatched}
      />`
    }
  `;
