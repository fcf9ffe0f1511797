// @ts-check
// The caption of the moment: one sentence about what has just happened, in a row of its own. While the world
// plays quickly an important sentence is not replaced by a lighter one before it can be read.

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { useComputed, useSignal } from "@preact/signals";
import { bilingual } from "../../common/world/format.js";
import { view } from "../../common/world/view.js";

/** How long a sentence stays while the world plays: before one of the same weight, and before lighter ones;
 * housekeeping
    waits longest. */
const STAYS_MS = [450, 1500, 2500, 4000];

/** It is marked as resting this long after the last change; a lesson lets it fade then. */
const RESTS_AFTER_MS = 6_000;

export function Caption() {
  const newest = useComputed(() => view.value.caption);
  const shown = useSignal(/** @type {Picture.Caption | null} */ (null));
  const since = useSignal(0);
  useEffect(() => {
    const next = newest.value;
    const show = () => {
      shown.value = next;
      since.value = performance.now();
    };
    const old = shown.peek();
    if (!view.peek().playing || !old || !next || next.event < old.event || next.weight > old.weight) return void show();
    const left = STAYS_MS[old.weight - next.weight] - (performance.now() - since.peek());
    if (left <= 0) return void show();
    const timer = setTimeout(show, left);
    return () => clearTimeout(timer);
  }, [newest.value]);
  const caption = shown.value;
  const playing = useComputed(() => view.value.playing);
  const rests = useSignal(false);
  useEffect(() => {
    rests.value = false;
    if (playing.value) return;
    const timer = setTimeout(() => (rests.value = true), RESTS_AFTER_MS);
    return () => clearTimeout(timer);
  }, [caption, playing.value]);
  return html`<div
    class="moment"
    role="status"
    data-rests=${rests.value ? "yes" : "no"}
    data-event=${caption?.event} data-kind=${caption?.kind}
  >
    ${caption && html`<p class=${`moment-text moment-${caption.kind}`}><span>${marked(caption)}</span></p>`}
  </div>`;
}

/** The sentence with the keys of its messages in bold. */
function marked({ text, keys }) {
  let parts = /** @type {any[]} */ ([bilingual(text)]);
  for (const key of keys)
    parts = parts.flatMap((part) => {
      if (typeof part !== "string" || !part.includes(key)) return [part];
      const at = part.indexOf(key);
      return [part.slice(0, at), html`<strong key=${key}>${key}</strong>`, part.slice(at + key.length)];
    });
  return parts;
}
