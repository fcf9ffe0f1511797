// @ts-check
// The rules at the broker, each with how often it has acted, and the frames that were hit last.

import { html } from "htm/preact";
import { faults, removeRule } from "../../common/faults.js";
import { clockTime, count, span } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { ClientSign } from "../client_name.js";
import { Button } from "../../parts/controls/button.js";
import { ScrollingTable } from "../../parts/panel/table.js";

const CONDITIONS = ["direction", "client", "topic", "group", "key"];
const COLUMNS = ["word.action", "lab.panel.frames", "faults.column.when", "faults.column.hits"];

export function Rules() {
  const rules = faults.value.rules.toReversed();
  const remove = { text: html`<span class="sr-only">${t("faults.remove")}</span>` };
  return html`<div class="fault-part">
    <h3 id="fault-rules-title">${t("word.rules")} <span class="quiet number">${count(rules.length)}</span></h3>
    <${ScrollingTable} of="fault-rules" kind="fault-table" columns=${[...COLUMNS, remove]}>
      ${rules.map((rule) => html`<${Rule} key=${rule.rule_id} rule=${rule} />`)}
    </${ScrollingTable}>
  </div>`;
}

function Rule({ rule }) {
  const { rule_id: id, what, frame, is_spent: isSpent } = rule;
  const conditions = CONDITIONS.filter((name) => rule[name]);
  return html`<tr data-rule=${id} class=${isSpent ? "is-spent" : ""}>
    <td><strong>${t(`faults.what.${what}`)}</strong> <span class="quiet">${detailOf(rule)}</span></td>
    <td>
      <code>${frame || t("field.any_frame")}</code>
      ${conditions.map(
        (name) =>
          html`<span key=${name} class="fault-condition">
            ${
              name === "direction"
                ? t(`faults.direction.${rule[name]}`)
                : html`<span class="quiet">${t(`field.${name}`)}</span>
                    ${name === "client" && html`<${ClientSign} id=${rule.client} /> `}<code>${rule[name]}</code>`
            }
          </span>`,
      )}
    </td>
    <td>${whenOf(rule)}</td>
    <td>${hitsOf(rule)}</td>
    <td class="actions">
      <${Button}
        class="button row-button" aria-label=${t("faults.remove_rule", { id: String(id) })}
        onClick=${() => removeRule(id)}
      >
        ${t("faults.remove")}
      </${Button}>
    </td>
  </tr>`;
}

function detailOf({ what, ms, code }) {
  if (what === "delay" || what === "answer-late") return span(ms);
  return what === "reject" ? code : "";
}

/** How often, and until when. */
function whenOf({ times, every, ratio, seed, ends_in_ms: ends, is_spent: isSpent }) {
  const words = [
    times > 0 ? t("faults.times", { n: times }) : t("faults.always"),
    every > 1 && t("faults.every", { n: every }),
    ratio < 1 && t("faults.ratio", { percent: `${+(ratio * 100).toFixed(1)} %`, seed: String(seed) }),
    ends !== null && !isSpent && t("faults.ends", { time: span(ends) }),
  ];
  return words.filter(Boolean).join(t("text.list_separator"));
}

/** A rule that never hit says so, and whether a frame came at all. */
function hitsOf({ hits, seen, is_spent: isSpent }) {
  const words =
    hits > 0 ? t("word.frames", { n: hits }) : t(seen > 0 ? "faults.never_hit_of" : "faults.never_hit", { seen });
  return html`<span class=${hits > 0 ? "" : "quiet"}>${words}</span>${
    isSpent && html` <span class="badge">${t("faults.spent")}</span>`
  }`;
}

export function Hits() {
  const { hits } = faults.value;
  return html`<div class="fault-part">
    <h3 id="fault-hits-title">${t("faults.hits")}</h3>
    <ol class="fault-hits" tabindex="0" role="list" aria-labelledby="fault-hits-title">
      ${hits.length === 0 && html`<li class="quiet">${t("faults.no_hits")}</li>`}
      ${hits.map(
        (hit) =>
          html`<li key=${`${hit.at_us} ${hit.rule} ${hit.frame} ${hit.client}`}>
            <time class="quiet number">${clockTime(hit.at_us)}</time>
            <strong>${t(`faults.what.${hit.what}`)}</strong>
            <span><code>${hit.frame}</code> <${Way} ...${hit} /></span>
          </li>`,
      )}
    </ol>
  </div>`;
}

/** Who sent a frame to whom. */
export function Way({ client, client_name: name, direction }) {
  const ends = [`${name} ${client}`.trimStart(), faults.value.broker ?? ""];
  return html`<span class="quiet">${(direction === "in" ? ends : ends.reverse()).join(" → ")}</span>`;
}
