// @ts-check
// Topics that the page does not draw, because there are too many: how many they are, and those that the filter means.
// The broker is asked for them, once per text.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { count } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { state } from "../../../common/cluster/view.js";
import { useAnswer } from "../../../common/server/answer.js";

const TYPING_MS = 250;

export function MoreTopics({ text }) {
  const omitted = useComputed(() => state.value.omitted.topics);
  const address = text && `/api/live/topics?text=${encodeURIComponent(text)}`;
  /** @type {Picture.FoundTopics | undefined} */
  const found = useAnswer(address, { delayMs: TYPING_MS }).answer;
  if (!text) return html`<p class="quiet">${t("live.topics.omitted", { n: omitted.value })}</p>`;
  if (!found) return null;
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
