// @ts-check
// Two-phase commit over time, next to the same transfers by transactional message: a lane per node with the states that
// its transactions go through, and who had to wait for a lock meanwhile. Below: what a crash at each point does.

import { html } from "htm/preact";
import { roundStep } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { span, virtualTime } from "../../common/world/format.js";
import { outcomeName } from "../../common/world/labels.js";
import { isPointed, pointing } from "../../common/viewer/pointed.js";
import { calmView } from "../../common/world/view.js";
import { CrashPoints } from "./crash_points.js";
import { Heads } from "../panel/heads.js";

/** A picture never shows less than this, and leaves this share free at its right. */
const LEAST_US = 1_000_000;
const FREE_SHARE = 0.03;
/** What the legend calls as a transaction or a branch is called. */
const LEGEND = {
  executing: "lab.outcome.executing",
  prepared: "lab.prepared.branch",
  voting: "lab.outcome.voting",
};
const ENDS = ["committed", "rolled-back", "forgotten"];

export function TwoPhaseCommit() {
  const { xa, time_us: now } = calmView.value;
  if (!xa) return html`<p class="panel-empty quiet">${t("lab.xa.not_here")}</p>`;
  return html`<div class="xa">
    ${
      xa.transactions.length + xa.messages.length === 0
        ? html`<p class="panel-empty quiet">${t("lab.xa.nothing_yet")}</p>`
        : html`<${Lanes} xa=${xa} now=${now} /><${Table} xa=${xa} now=${now} />`
    }
    <${CrashPoints} scenario=${calmView.value.scenario} />
  </div>`;
}

// ------------------------------------------------------------------------------------------------------- lanes

function Lanes({ xa, now }) {
  const window = windowOf(xa, now);
  const lanes = lanesOf(xa, now);
  return html`<div class="xa-lanes" role="img" aria-label=${t("lab.xa.lanes_label")}>
    <${Axis} window=${window} />
    ${lanes.map(
      ({ title, rows }) =>
        rows.length > 0 &&
        html`<div class="xa-side" key=${title}>
          <p class="xa-side-title">${title}</p>
          ${rows.map((row) => html`<${Lane} key=${row.name} row=${row} window=${window} now=${now} />`)}
        </div>`,
    )}
    <p class="sign-legend xa-legend" aria-hidden="true">
      ${["voting", "executing", "prepared", "end", "window", "waits", "down"].map(
        (kind) =>
          html`<span key=${kind}>
            <span class=${`xa-bar xa-bar-${kind}`}></span>${t(LEGEND[kind] ?? `lab.xa.legend_${kind}`)}
          </span>`,
      )}
    </p>
  </div>`;
}

/** From the first transfer shown to the last thing that happened, or to now while something is open. */
function windowOf({ transactions, messages, blocked }, now) {
  const begins = [...transactions.map(({ steps }) => steps[0][0]), ...messages.map(({ sent_us: sent }) => sent)];
  const isOpen =
    transactions.some(({ state }) => !ENDS.includes(state)) ||
    messages.some(({ end }) => end === null) ||
    blocked.some(({ until_us: until }) => until === null);
  const last = isOpen
    ? now
    : Math.max(
        ...transactions.flatMap(lastOf),
        ...messages.map(({ sent_us: sent, debited_us: debited, credited_us: credited }) =>
          Math.max(sent, debited ?? 0, credited ?? 0),
        ),
        0,
      );
  const from = Math.min(...begins);
  const width = Math.max(LEAST_US, last - from) / (1 - FREE_SHARE);
  return { from, width };
}

const lastOf = ({ steps, branches }) => [...steps, ...branches.flatMap((branch) => branch.steps)].map(([time]) => time);

/** The two sides, each with its lanes: {name, label, bars: [{from, to, kind, label, key}], marks: [{at, sign, kind}]}.
 */
function lanesOf({ transactions, messages, blocked, down }, now) {
  const [first] = transactions;
  const banks = [...new Set(transactions.flatMap(({ branches }) => branches.map(({ node }) => node)))].sort();
  const waits = (node) =>
    waitLane(
      blocked.filter((wait) => wait.node === node),
      node,
      now,
    );
  const twoPhase = first
    ? [
        coordinatorLane(transactions, first.node, now),
        ...banks.flatMap((node) => [bankLane(transactions, node, now), waits(node)]),
      ]
    : [];
  const payers = [...new Set(messages.map(({ node }) => node))];
  const byMessage = payers.flatMap((node) => [
    messageLane(
      messages.filter((message) => message.node === node),
      node,
      now,
    ),
    waits(node),
  ]);
  const withDown = (rows) =>
    rows
      .filter(Boolean)
      .map((row) => (row.isQuiet ? row : { ...row, bars: [...row.bars, ...downBars(down, row.name, now)] }));
  return [
    { title: t("lab.xa.side_two_phase"), rows: withDown(twoPhase) },
    { title: t("lab.xa.side_message"), rows: withDown(byMessage) },
  ];
}

/** Over everything else in the lane: whatever state was left, no process continues it. */
const downBars = (down, name, now) =>
  down
    .filter(({ node }) => node === name)
    .map(({ since_us: since, until_us: until }) => ({
      from: since,
      to: until ?? now,
      kind: "down",
      key: null,
      label: t("lab.xa.down", { node: name, time: span((until ?? now) - since) }),
    }));

const SIGNS = { committed: "✓", "rolled-back": "✕", forgotten: "†" };
const sign = (state, at) => ({ at, state, sign: SIGNS[state], label: outcomeName(state) });

/** A bar from each step to the next; the last one goes on until now. */
function barsOf({ steps, key, xid }, kinds, now, text) {
  return steps.flatMap(([time, state], index) => {
    const to = steps[index + 1]?.[0] ?? now;
    return kinds[state] === undefined || to <= time
      ? []
      : [{ from: time, to, kind: kinds[state], key, label: `${xid} · ${text(state)} · ${span(to - time)}` }];
  });
}

const COORDINATOR_KINDS = {
  active: "active",
  voting: "voting",
  prepared: "voting",
  refused: "voting",
  committing: "ending",
  "rolling-back": "ending",
};
const BRANCH_KINDS = { enlisted: "active", waiting: "waits", executing: "executing", prepared: "prepared" };

function coordinatorLane(transactions, node, now) {
  const ends = transactions.filter(({ state }) => ENDS.includes(state));
  return {
    name: node,
    label: node,
    part: "TC",
    bars: transactions.flatMap((one) => barsOf(one, COORDINATOR_KINDS, now, (state) => outcomeName(state, "global"))),
    marks: ends.map(({ state, steps }) => sign(state, steps.at(-1)[0])),
  };
}

function bankLane(transactions, node, now) {
  const branches = transactions.flatMap((one) => one.branches.filter((branch) => branch.node === node));
  const marks = branches
    .filter(({ state }) => ENDS.includes(state))
    .map(({ state, steps }) => sign(state, steps.at(-1)[0]));
  return {
    name: node,
    label: node,
    part: "RM",
    bars: branches.flatMap((branch) => barsOf(branch, BRANCH_KINDS, now, (state) => outcomeName(state, "branch"))),
    marks,
  };
}

function messageLane(messages, node, now) {
  const bars = messages.flatMap(
    ({ key, sent_us: sent, debit_us: debit, debited_us: debited, credited_us: credited, end }) => {
      const bar = (from, to, kind, text) => ({ from, to, kind, key, label: `${key} · ${text}` });
      const half = (to) => bar(sent, to, "active", t("lab.xa.message_half"));
      if (debit === null) return end === null && now > sent ? [half(now)] : [];
      const [until, done] = [debited ?? debit, credited ?? now];
      const debits = `${t("lab.xa.message_debits")} · ${span(until - debit)}`;
      return [
        half(debit),
        bar(debit, until, "executing", debits),
        debited !== null && bar(debited, done, "window", `${t("lab.xa.message_window")} · ${span(done - debited)}`),
      ].filter((one) => one && one.to > one.from);
    },
  );
  const marks = messages.flatMap(({ credited_us: credited, end, sent_us: sent }) =>
    credited !== null ? [sign("committed", credited)] : end ? [sign("rolled-back", sent)] : [],
  );
  return { name: node, label: node, part: "TM RM", bars, marks };
}

function waitLane(waits, node, now) {
  if (waits.length === 0) return null;
  return {
    name: `${node} waits`,
    label: t("lab.xa.waits_at", { node }),
    isQuiet: true,
    marks: waits
      .filter((wait) => wait.in_vain)
      .map((wait) => ({ at: wait.until_us, state: "rolled-back", sign: "✕", label: t("lab.xa.gave_up") })),
    bars: waits.map(({ waiter, by, since_us: since, until_us: until }) => ({
      from: since,
      to: until ?? now,
      kind: "waits",
      key: null,
      label: t("lab.xa.waits_for", { waiter: waiterName(waiter), by: by || "–", time: span((until ?? now) - since) }),
    })),
  };
}

const waiterName = (waiter) => (waiter === "cash machine" ? t("lab.cash.title") : waiter);

function Lane({ row, window, now }) {
  const left = (us) => `${(100 * (us - window.from)) / window.width}%`;
  return html`<div class=${`xa-lane ${row.isQuiet ? "is-quiet" : ""}`}>
    <span class="xa-lane-name ellipsis" title=${row.label}>
      ${row.label}${row.part && html` <span class="badge xa-part">${row.part}</span>`}
    </span>
    <span class="xa-track">
      ${row.bars.map(
        (bar) => html`<span
          key=${`${bar.key} ${bar.kind} ${bar.from}`}
          class=${`xa-bar xa-bar-${bar.kind} ${isPointed(bar.key) ? "is-pointed" : ""}`}
          title=${bar.label}
          style=${{ left: left(bar.from), width: `${(100 * (bar.to - bar.from)) / window.width}%` }}
          ...${pointing(bar.key)}
        ></span>`,
      )}
      ${row.marks.map(
        (mark) =>
          html`<span
            key=${`${mark.at} ${mark.state}`}
            class=${`xa-mark xa-mark-${mark.state}`}
            title=${mark.label}
            style=${{ left: left(mark.at) }}
          >
            ${mark.sign}
          </span>`,
      )}
      <span class="xa-now" style=${{ left: left(Math.min(now, window.from + window.width)) }}></span>
    </span>
  </div>`;
}

/** Every 1, 2 or 5 units, at most about ten marks. */
function Axis({ window: { from, width } }) {
  const step = roundStep(width / 8);
  const marks = [];
  for (let time = Math.ceil(from / step) * step; time <= from + width; time += step) marks.push(time);
  const digits = Math.max(0, 6 - Math.floor(Math.log10(step)));
  return html`<div class="xa-lane xa-axis" aria-hidden="true">
    <span></span>
    <span class="xa-track">
      ${marks.map(
        (time) =>
          html`<span key=${time} class="xa-tick number" style=${{ left: `${(100 * (time - from)) / width}%` }}>
            ${(time / 1e6).toFixed(Math.min(3, digits))} s
          </span>`,
      )}
    </span>
  </div>`;
}

// ------------------------------------------------------------------------------------------------------- table

/** The same in figures: how long A was locked, how long the two banks did not agree, how it ended. */
function Table({ xa: { transactions, messages, waits, down }, now }) {
  // A dead coordinator does not continue its work.
  const isGone = ({ node, state }) =>
    !ENDS.includes(state) && down.some((one) => one.node === node && one.until_us === null);
  return html`<div class="xa-figures">
    <table class="figure-table xa-table">
      <caption class="sr-only">${t("lab.xa.table_label")}</caption>
      <${Heads}
        columns=${[
          "lab.xa.col_transfer",
          "lab.xa.col_outcome",
          ["lab.xa.col_locked", "", "lab.xa.col_locked_hint"],
          ["lab.xa.col_window", "", "lab.xa.col_window_hint"],
        ]}
      />
      <tbody>
        ${transactions.map(
          (one) => html`<${TransactionRow} key=${one.xid} one=${one} now=${now} isGone=${isGone(one)} />`,
        )}
        ${messages.map((one) => html`<${MessageRow} key=${one.key} one=${one} now=${now} />`)}
      </tbody>
    </table>
    ${
      waits.length > 0 &&
      html`<table class="figure-table xa-table">
        <caption>${t("lab.cash.title")}</caption>
        <${Heads} columns=${["lab.xa.col_bank", "lab.xa.col_lookups", "lab.xa.col_longest", "word.timed_out"]} />
        <tbody>
          ${waits.map(
            (one) =>
              html`<tr key=${one.node}>
                <th scope="row">${one.bank}</th>
                <td class="number">${one.count}</td>
                <td class="number">${span(one.longest_us)}</td>
                <td class="number">${one.in_vain}</td>
              </tr>`,
          )}
        </tbody>
      </table>`
    }
  </div>`;
}

const stretch = (from, to, now) =>
  from === null || from === undefined
    ? "–"
    : `${to === null || to === undefined ? "> " : ""}${span((to ?? now) - from)}`;

function TransactionRow({ one, now, isGone }) {
  const at = (branch, ...states) => branch?.steps.find(([, state]) => states.includes(state))?.[0];
  const [payer] = one.branches.filter(({ doing }) => doing === "debit");
  const commits = one.branches.map((branch) => at(branch, "committed"));
  const isCommitted = commits.some((time) => time !== undefined);
  const window = !isCommitted
    ? "–"
    : stretch(
        Math.min(...commits.filter((time) => time !== undefined)),
        commits.includes(undefined) ? null : Math.max(...commits),
        now,
      );
  return html`<tr>
    <th scope="row" title=${one.xid}>${one.key}</th>
    <td title=${one.reason}>
      ${isGone ? t("lab.xa.nobody_decides", { node: one.node }) : outcomeName(one.state, "global")}
    </td>
    <td class="number">${stretch(at(payer, "executing"), at(payer, ...ENDS), now)}</td>
    <td class="number">${window}</td>
  </tr>`;
}

function MessageRow({ one, now }) {
  const end = one.end
    ? one.end === "rolled-back"
      ? outcomeName(one.end)
      : t(`lab.xa.message_${one.end}`)
    : t(one.debited_us === null ? "lab.xa.message_half" : "lab.xa.message_window");
  return html`<tr>
    <th scope="row">${one.key}</th>
    <td>${end}</td>
    <td class="number">${stretch(one.debit_us, one.debited_us, now)}</td>
    <td class="number" title=${one.debited_us === null ? "" : virtualTime(one.debited_us)}>
      ${one.debited_us === null ? "–" : stretch(one.debited_us, one.credited_us, now)}
    </td>
  </tr>`;
}
