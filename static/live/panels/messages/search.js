// @ts-check
// Message search: by key or time within a topic, by the client's unique id, by the broker's offset message id.

import { html } from "htm/preact";
import { signal } from "@preact/signals";
import { typedKey } from "../../../common/format.js";
import { get } from "../../../common/request.js";
import { t } from "../../../common/i18n.js";
import { userTopics, groupTopics } from "../../../common/cluster/lists.js";
import { inspectedOffset } from "../../../common/cluster/selection.js";
import { Empty } from "../../../parts/lane/marks.js";
import { Panel } from "../../../parts/panel/panel.js";
import { Select } from "../../../parts/panel/select.js";
import { askedOf, findByTime, TimeFields, TimePages } from "./by_time.js";
import { RecordTable } from "./records.js";
import { Segmented, sending } from "../../../parts/controls/choices.js";

/** What a message is found by -> what that is called. */
const MODES = {
  key: "word.key",
  time: "live.search.by_time",
  unique_id: "inspector.unique_id",
  offset_message_id: "inspector.offset_id",
  offset: "live.records.offset",
};

// They outlast a visit of another tab.
const mode = signal("key");
const result = signal(/** @type {any} */ ({ state: "idle" }));
let newest = 0;

/** @param {Promise<any>} answering */
async function show(answering) {
  const asked = ++newest;
  if (!result.value.page) result.value = { state: "searching" }; // else the page before it stays until then
  const answer = await answering;
  if (asked === newest) result.value = answer; // a slow answer must not replace a later one
}

export function Search() {
  const topics = [...userTopics.value, ...groupTopics.value];
  const options = topics.length > 0 ? topics : [["", t("live.topics.none")]];

  const submit = sending((fields) => {
    if (mode.value === "time") return show(findByTime(askedOf(fields)));
    const text = typedKey(fields.get("text"));
    if (!text) return;
    if (mode.value === "offset") openOffset(text);
    else show(findMessages(mode.value, text, fields.get("topic")));
  });

  return html`<${Panel} id="search" title=${t("word.find_message")}>
    <form class="search-form" onSubmit=${submit} role="search">
      <${Segmented}
        name="mode"
        legend=${t("live.search.by")}
        options=${Object.entries(MODES).map(([name, words]) => [name, t(words)])}
        chosen=${mode.value}
        choose=${(name) => (mode.value = name)}
      />
      ${
        ["key", "time"].includes(mode.value) &&
        html`<label class="field">
          <span>${t("field.topic")}</span>
          <${Select} name="topic" class="topic-select" options=${options} />
        </label>`
      }
      ${
        mode.value === "time"
          ? html`<${TimeFields} />`
          : html`<label class="field field-grow">
            <span class="sr-only">${t(MODES[mode.value])}</span>
            <input
              id="search-text"
              name="text"
              type="search"
              autocomplete="off"
              spellcheck=${false}
              required
              placeholder=${t(`live.search.placeholder_${mode.value}`)}
            />
          </label>`
      }
      <button type="submit" class="button button-primary">${t("live.search.submit")}</button>
    </form>
    <div
      class="table-scroll search-result"
      aria-live="polite"
      tabindex="0"
      role="group"
      aria-label=${t("live.search.results")}
    >
      <${Result} />
    </div>
  </${Panel}>`;
}

function openOffset(text) {
  const offset = Number(text.replaceAll(",", ""));
  if (Number.isSafeInteger(offset) && offset >= 0) inspectedOffset.value = offset;
  else result.value = { state: "failed", why: t("live.search.bad_offset", { text }) };
}

async function findMessages(by, text, topic) {
  const query = new URLSearchParams(by === "key" ? { topic: topic ?? "", key: text } : { [by]: text });
  const { answer, why } = await get(`/api/messages?${query}`);
  return answer ? { state: "found", messages: answer.messages, text } : { state: "failed", why };
}

function Result() {
  const { state, why, text, page, messages = [] } = result.value;
  switch (state) {
    case "idle":
      return html`<p class="quiet search-hint">${t(`live.search.hint_${mode.value}`)}</p>`;
    case "searching":
      return html`<p class="quiet search-hint">${t("live.search.searching")}</p>`;
    case "failed":
      return html`<p class="problem" role="alert">${why}</p>`;
    default:
      if (messages.length === 0 && page) return html`<${Empty} title=${t("live.search.none_time")} />`;
      if (messages.length === 0) {
        return html`<${Empty} title=${t("live.search.none", { text })}>
          <p>${t("live.search.none_next")}</p>
        </${Empty}>`;
      }
      return html`
        ${
          page
            ? html`<${TimePages} page=${page} show=${show} />`
            : html`<p class="quiet search-hint">${t("live.search.found", { n: messages.length })}</p>`
        }
        <${RecordTable} records=${messages} caption=${t("live.search.results")} isOfOneTopic=${Boolean(page)} />
      `;
  }
}
