// @ts-check
// Topics that the page does not draw, because there are too many: how many they are, and those that the filter means.
// The broker is asked for them, once per text.

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { useComputed, useSignal } from "@preact/signals";
import { count } from "../../../common/format.js";
import { sendRequest } from "../../../common/transport.js";
import { t } from "../../../common/i18n.js";
import { state } from "../../../common/cluster/view.js";

const TYPING_MS = 250;

export function MoreTopics({ text }) {
  const omitted = useComputed(() => state.value.omitted.topics);
  const found = useFound(text);
  if (!text) return html`<p class="quiet">${t("live.topics.omitted", { n: omitted.value })}</p>`;
  if (found === null) return null;
  if (Object.keys(found.topics).length === 0)
    return html`<p class="quiet">${t("live.topics.none_match", { text })}</p>`;
  const drawn = state.value.topics;
  const names = Object.keys(found.topics).filter((name) => !(name in drawn));
  return html`<div class="more-topics">
    ${
      names.length > 0 &&
      html`<h3 class="topics-divider">${t("live.topics.found", { n: Object.keys(drawn).length })}</h3>
        <ul role="list">
          ${names.map((name) => {
            const { queues, stored } = found.topics[name];
            const facts = { queues: count(queues), stored: count(stored) };
            return html`<li key=${name}>
              <b>${name}</b>${" "}
              <span class="quiet">${t("live.topics.found_facts", facts)}</span>
            </li>`;
          })}
        </ul>`
    }
    ${found.omitted > 0 && html`<p class="quiet">${t("live.topics.found_more", { n: found.omitted })}</p>`}
  </div>`;
}

/** What the broker answers about `text`; null before it does, and without a text. */
function useFound(text) {
  const found = useSignal(/** @type {Picture.FoundTopics | null} */ (null));
  useEffect(() => {
    found.value = null;
    if (!text) return undefined;
    const stop = new AbortController();
    const ask = async () => {
      try {
        const response = await sendRequest(`/api/live/topics?text=${encodeURIComponent(text)}`, {
          signal: stop.signal,
        });
        if (response.ok) found.value = await response.json();
      } catch (error) {
        if (error.name !== "AbortError") console.warn(`no topics with ${text}: ${error.message}`);
      }
    };
    const timer = setTimeout(ask, TYPING_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text]);
  return found.value;
}
