// @ts-check
// Tags: the broker compares hash codes, the client the texts.

import { html } from "htm/preact";
import { signal } from "@preact/signals";
import { t } from "../common/i18n.js";
import { post } from "../common/request.js";
import { Panel } from "../parts/panel/panel.js";

const expression = signal("Aa || Cc");
const tag = signal("BB");
/** What the server answers, or what went wrong. */
const answer = signal(/** @type {(Picture.TagsAnswer & { error?: string }) | null} */ (null));
let newest = 0;

async function compare() {
  const number = ++newest;
  const { answer: result, why } = await post("/api/filter/tags", { expression: expression.value, tag: tag.value });
  if (number === newest) answer.value = result ?? { error: why };
}

export function Tags() {
  /** @type {(kept: import("@preact/signals").Signal<string>, label: string) => any} */
  const field = (kept, label) => html`<label class="bench-field">
    <span>${t(label)}</span>
    <input
      class="mono"
      type="text"
      maxlength="100"
      spellcheck="false"
      autocapitalize="off"
      value=${kept.value}
      onInput=${(/** @type {FieldEvent} */ event) => {
        kept.value = event.target.value;
        compare();
      }}
    />
  </label>`;
  return html`<${Panel} name="bench-tags" kind="bench-tags" title=${t("filter.tags.title")}>
    <div class="bench-body">
      <p>${t("filter.tags.text")}</p>
      <div class="tag-fields">${field(expression, "filter.tags.expression")}${field(tag, "filter.tags.tag")}</div>
      <div aria-live="polite"><${Verdict} /></div>
    </div>
  </${Panel}>`;
}

function Verdict() {
  const result = answer.value;
  if (!result) return "";
  if (result.error) return html`<p class="problem">${result.error}</p>`;
  /** @param {boolean} is */
  const yes = (is) => html`<span class=${is ? "good-text" : "problem-text"}>${t(is ? "word.yes" : "word.no")}</span>`;
  return html`<table class="tag-table">
    <tbody>
      ${result.wanted.map(
        (wanted) =>
          html`<tr key=${wanted.tag}>
            <th scope="row">${t("filter.tags.wanted")} <code>${wanted.tag}</code></th>
            <td class="number">${wanted.code}</td>
          </tr>`,
      )}
      <tr>
        <th scope="row">${t("filter.tags.of_message")} <code>${tag.value || "—"}</code></th>
        <td class="number">${result.code}</td>
      </tr>
      <tr><th scope="row">${t("filter.tags.broker")}</th><td>${yes(result.broker_lets_through)}</td></tr>
      <tr><th scope="row">${t("filter.tags.client")}</th><td>${yes(result.client_takes)}</td></tr>
    </tbody>
  </table>`;
}

compare();
