// @ts-check
// What the cards of producers and of groups' members have in common.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { compact } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { frameRates } from "../../frame_rates.js";

/** Cards per column; the rest is counted (and listed in the groups panel). */
export const MOST_CARDS = 40;

/** What a list leaves out, because the page or the server bounds it. */
export function More({ n }) {
  return n > 0 && html`<li class="quiet">${t("word.more", { n })}</li>`;
}

/** Frames per second of a connection, by `directions` ("in": to the broker, "out"). */
export function Frames({ address, client, directions }) {
  const rate = useComputed(() => frameRates.value[address]);
  return html`<span class="client-frames">
    ${directions.map(
      (direction) =>
        html`<span
          key=${direction}
          class=${`frames frames-${direction}`}
          title=${t(`live.clients.frames_${direction}`, { frames: client[`frames_${direction}`] })}
        >
          <span class="frames-arrow" aria-hidden="true"></span>
          <span class="sr-only">${t(`live.clients.${direction}`)}</span>
          <span class="number">${compact(rate.value?.[direction] ?? 0)}</span><span class="unit">/s</span>
        </span>`,
    )}
    ${
      client.unsent_bytes > 0 &&
      html`<span class="badge badge-warning">${t("live.clients.unsent", { n: client.unsent_bytes })}</span>`
    }
  </span>`;
}
