// What a crash at each point of a transfer, or of work, does: a table that was computed before
// (engine/lab/sweep/crash_points.py); each row leads to its run, right after the crash.

import { html } from "htm/preact";
import { signal } from "@preact/signals";
import { sendRequest } from "../../../common/transport.js";
import { t } from "../../../common/i18n.js";
import { bilingual, span } from "../../format.js";
import { outcomeName } from "../../labels.js";
import { isRecording, openLink } from "../../session.js";

/** Scenarios whose table comes with the page. */
const WITH_TABLE = { "xa-two-phase": ["two-phase", "message"], "six-steps": ["work"], "sub-messages": ["work"] };

/** Scenario -> its table, once it was requested; "missing" when it is not available. */
const tables = signal({});

async function load(scenario) {
  if (tables.peek()[scenario]) return;
  const keep = (table) => (tables.value = { ...tables.peek(), [scenario]: table });
  try {
    const response = await sendRequest(`/static/lab/crash_points/${scenario}.json`);
    keep(response.ok ? await response.json() : "missing");
  } catch {
    keep("missing");
  }
}

/** `isWork`: that of work is wanted, else that of transfers. */
export function CrashPoints({ scenario, isWork = false }) {
  const ways = WITH_TABLE[scenario] ?? [];
  if (ways.includes("work") !== isWork || ways.length === 0 || isRecording()) return null;
  const table = tables.value[scenario];
  return html`<details class="crash-points" onToggle=${(event) => event.currentTarget.open && load(scenario)}>
    <summary>${t("lab.crash.title")}</summary>
    ${table === "missing" && html`<p class="quiet">${t("lab.compare.missing", { command: "crash-points" })}</p>`}
    ${
      table &&
      table !== "missing" &&
      html`
        <p class="quiet">
          ${t(isWork ? "lab.crash.about_work" : "lab.crash.about", { time: span(table.restart_after_ms * 1000) })}
        </p>
        ${ways.map(
          (way) =>
            html`<${Points} key=${way} way=${way} points=${table.points.filter((point) => point.way === way)} />`,
        )}
      `
    }
  </details>`;
}

function Points({ way, points }) {
  const most = Math.max(1, ...points.flatMap(({ locked_us: locked, window_us: window }) => [locked, window ?? 0]));
  const bar = (us, kind) =>
    html`<span class="crash-bar" aria-hidden="true">
      <span class=${`xa-bar xa-bar-${kind}`} style=${{ width: `${(100 * us) / most}%` }}></span>
    </span>`;
  const isWork = way === "work";
  return html`<table class="xa-table crash-table">
    <caption>${t(isWork ? "lab.crash.work" : `lab.xa.side_${way.replaceAll("-", "_")}`)}</caption>
    <thead>
      <tr>
        <th scope="col">${t("lab.crash.col_point")}</th>
        <th scope="col">${t("lab.xa.col_outcome")}</th>
        ${
          isWork
            ? html`<th scope="col">${t("lab.crash.col_times")}</th>`
            : html`<th scope="col" colspan="2">${t("lab.xa.col_locked")}</th>
                <th scope="col" colspan="2">${t("lab.xa.col_window")}</th>`
        }
        <th scope="col">${t(isWork ? "lab.crash.col_holds" : "lab.crash.col_conserved")}</th>
      </tr>
    </thead>
    <tbody>
      ${points.map(
        (point) => html`<tr key=${`${point.node} ${point.event}`}>
          <th scope="row">
            <button
              type="button"
              class="link-button"
              onClick=${() => openLink(point.link)}
              title=${t("lab.crash.open")}
            >
              <strong>${point.node}</strong> ${bilingual(point.step)}
            </button>
          </th>
          <td>
            <span class=${`xa-state xa-${point.outcome}`}>
              ${outcomeName(point.outcome)}
            </span>
          </td>
          ${
            isWork
              ? html`<td class="number">${point.times}</td>`
              : html`<td class="number">${point.locked_us === 0 ? "–" : span(point.locked_us)}</td>
                  <td>${bar(point.locked_us, way === "message" ? "executing" : "prepared")}</td>
                  <td class="number">${point.window_us === null ? "–" : span(point.window_us)}</td>
                  <td>${bar(point.window_us ?? 0, "window")}</td>`
          }
          <td>
            ${point.is_conserved ? "✓" : "✕"}
            <span class="sr-only"> ${t(point.is_conserved ? "word.yes" : "word.no")}</span>
          </td>
        </tr>`,
      )}
    </tbody>
  </table>`;
}
