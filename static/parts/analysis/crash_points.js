// @ts-check
// The study of crash points: what a crash at each point of a transfer, or of work, does
// (engine/lab/sweep/crash_points.py); each row leads to its run, right after the crash.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { bilingual, span } from "../../common/world/format.js";
import { outcomeName } from "../../common/world/labels.js";
import { isRecording } from "../../common/world/session.js";
import { contentOf, load, Missing, RunLink, StudyTable } from "./study.js";

/** Scenarios whose table comes with the page. */
const WITH_TABLE = { "xa-two-phase": ["two-phase", "message"], "six-steps": ["work"], "sub-messages": ["work"] };

/** `isWork`: that of work is wanted, else that of transfers. */
export function CrashPoints({ scenario, isWork = false }) {
  const ways = WITH_TABLE[scenario] ?? [];
  if (ways.includes("work") !== isWork || ways.length === 0 || isRecording()) return null;
  const file = `/static/lab/crash_points/${scenario}.json`;
  const table = contentOf(file);
  const about = isWork ? "lab.crash.about_work" : "lab.crash.about";
  return html`<details class="crash-points" onToggle=${(event) => event.currentTarget.open && load(file)}>
    <summary>${t("lab.crash.title")}</summary>
    <${Missing} of=${[file]} study="crash-points" />
    ${table && html`<p class="quiet">${t(about, { time: span(table.restart_after_ms * 1000) })}</p>`}
    ${table && ways.map((way) => tableOf(scenario, way, table))}
  </details>`;
}

function tableOf(scenario, way, table) {
  const points = table.points.filter((point) => point.way === way);
  const most = Math.max(1, ...points.flatMap(({ locked_us: locked, window_us: window }) => [locked, window ?? 0]));
  const isWork = way === "work";
  const times = [{ head: t("lab.crash.col_times"), cell: (point) => point.times, style: () => "number" }];
  const lengths = [
    {
      head: t("lab.xa.col_locked"),
      cell: (point) => (point.locked_us === 0 ? "–" : span(point.locked_us)),
      bar: (point) => point.locked_us / most,
      tone: way === "message" ? "xa-bar-executing" : "xa-bar-prepared",
    },
    {
      head: t("lab.xa.col_window"),
      cell: (point) => (point.window_us === null ? "–" : span(point.window_us)),
      bar: (point) => (point.window_us ?? 0) / most,
      tone: "xa-bar-window",
    },
  ];
  const columns = [
    {
      head: t("lab.crash.col_point"),
      cell: ({ node, step, link }) =>
        html`<${RunLink} scenario=${scenario} link=${link} title=${t("lab.crash.open")}>
          <strong>${node}</strong> ${bilingual(step)}
        <//>`,
    },
    {
      head: t("lab.xa.col_outcome"),
      cell: ({ outcome }) => html`<span class=${`xa-state xa-${outcome}`}>${outcomeName(outcome)}</span>`,
    },
    ...(isWork ? times : lengths),
    {
      head: t(isWork ? "lab.crash.col_holds" : "lab.crash.col_conserved"),
      cell: ({ is_conserved: holds }) =>
        html`${holds ? "✓" : "✕"}
          <span class="sr-only"> ${t(holds ? "word.yes" : "word.no")}</span>`,
    },
  ];
  const caption = t(isWork ? "lab.crash.work" : `lab.xa.side_${way.replaceAll("-", "_")}`);
  return html`<${StudyTable} key=${way} kind="crash-table" caption=${caption} columns=${columns} rows=${points} />`;
}
