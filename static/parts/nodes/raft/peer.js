// @ts-check
// A peer of a Raft group: its role and term, its timer, who has answered or follows, why it does not lead, its log.

import { html } from "htm/preact";
import { count } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { span } from "../../../common/world/format.js";
import { memo } from "../../../common/memo.js";
import { nodes, view } from "../../../common/world/view.js";
import { Bar } from "../../lane/bar.js";
import { NodeCard } from "../node_card.js";
import { Rule } from "../part.js";
import { LogBlock, LogStrip } from "../../log/strip.js";
import { FigureCells } from "../rows.js";

/** No more entries than can be read. */
const ENTRIES_MOST = 10;
/** Neighbouring terms look different; the number says which. */
const TONES = ["sky", "orange", "green", "yellow", "pink", "blue", "brown", "violet"];
const OFFICES = { leader: "★", candidate: "?", "pre-candidate": "…", joining: "＋", follower: "" };

/** @type {(props: { name: string, node: Picture.RaftPeerPicture }) => any} */
export const RaftPeer = memo(({ name, node }) => {
  const raft = node.raft;
  const said = raft && t(`lab.raft.role_${raft.role}`);
  return html`<${NodeCard}
    name=${name}
    node=${node}
    titleExtra=${raft && html`<${Office} raft=${raft} said=${said} />`}
    summary=${raft && t("lab.raft.summary", { role: said, term: raft.term, commit: raft.commit_index })}
    lasting=${node.log && html`<${Log} log=${node.log} />`}
  >
    ${
      raft &&
      html`<${Facts} raft=${raft} /><${Timer} name=${name} raft=${raft} /><${Others} raft=${raft} />
      <${Outlook} name=${name} raft=${raft} />`
    }
  </${NodeCard}>`;
});

const Office = ({ raft: { role, term }, said }) => html`<span class=${`raft-office is-${role}`} data-office=${role}>
  ${OFFICES[role] && html`<span aria-hidden="true">${OFFICES[role]}</span> `}${said}
  <span class=${`raft-term tone-${toneOf(term)}`} title=${t("lab.raft.term_hint")}>
    ${t("lab.raft.term", { n: term })}
  </span>
</span>`;

const toneOf = (term) => (term ? TONES[(term - 1) % TONES.length] : "none");

/** @param {{ raft: Picture.Raft }} props */
const Facts = ({ raft }) =>
  html`<${FigureCells}
    word=${(name) => t(`lab.raft.${name}`)}
    figures=${[
      ["vote", raft.voted_for || t("word.none")],
      ["commit", count(raft.commit_index)],
      ["applied", count(raft.applied_index)],
      ["last", count(raft.last_index)],
      ["voters", raft.voters.join(" ")],
    ]}
  />`;

/** Reads the time. */
/** @param {{ name: string, raft: Picture.Raft }} props */
function Timer({ name, raft }) {
  if (raft.failure) {
    return html`<p class="node-line"><span class="badge badge-bad">${t("lab.raft.failed")}</span> ${raft.failure}</p>`;
  }
  if (!raft.voters.includes(name) || raft.role === "joining") return null;
  const left = Math.max(0, raft.due_us - view.value.time_us);
  const kind = raft.role === "leader" ? "heartbeat" : "election";
  const text = t(`lab.raft.${kind}`, { time: span(left) });
  return html`<p class="node-line raft-timer">
    <span>${text}</span><${Bar} left=${left} whole=${raft.wait_us} label=${text} />
    <${Rule} node=${name} part=${kind} />
  </p>`;
}

const Others = memo(
  ({ raft }) => html`
    ${
      raft.followers.length > 0 &&
      html`<ul class="chips raft-others" aria-label=${t("lab.raft.followers")}>
        ${raft.followers.map(
          (one) => html`<li key=${one.name} class="chip" title=${t("lab.raft.follower_hint", one)}>
            ${one.name} <span class="number">${count(one.match_index)}</span>
            ${one.match_index < raft.last_index && html` <span class="quiet number">/ ${count(raft.last_index)}</span>`}
          </li>`,
        )}
      </ul>`
    }
    ${
      raft.answers.length > 0 &&
      html`<ul class="chips raft-others" aria-label=${t("lab.raft.answers")}>
        ${raft.answers.map(
          (one) => html`<li key=${one.name} class="chip" title=${answerText(one)}>
            ${one.verdict === "granted" ? "✓" : "✕"} ${one.name}
          </li>`,
        )}
      </ul>`
    }
    ${raft.obstacles.map(
      ({ reason, names }) => html`<p key=${reason} class="node-line quiet" data-obstacle=${reason}>
        ${t(`lab.raft.not_${reason}`, { names })}
      </p>`,
    )}
  `,
);

const answerText = ({ name, verdict }) => `${name}: ${t(`lab.raft.verdict_${verdict}`)}`;

/** Why a follower could not be elected: who would refuse it, and who is not reachable. Reads all peers. */
function Outlook({ name, raft }) {
  if (raft.role !== "follower" || raft.failure || !raft.voters.includes(name)) return null;
  const rafts = raft.voters.filter((one) => one !== name).map((one) => [one, nodes.value[one]?.raft]);
  const isNewer = (other) => other.last_term - raft.last_term || other.last_index - raft.last_index;
  const absent = rafts.filter(([, other]) => !other || other.failure).map(([one]) => one);
  const joining = rafts.filter(([, other]) => other?.role === "joining" && !other.failure).map(([one]) => one);
  const newer = rafts.filter(
    ([one, other]) => other && !other.failure && !joining.includes(one) && other.checks_log && isNewer(other) > 0,
  );
  const yes = raft.voters.length - absent.length - newer.length - joining.length;
  if (2 * yes > raft.voters.length) return null;
  const reasons = [
    newer.length > 0 && t("lab.raft.newer_logs", { names: newer.map(([one]) => one).join(", ") }),
    absent.length > 0 && t("lab.raft.absent", { names: absent.join(", ") }),
    joining.length > 0 && t("lab.raft.join", { names: joining.join(", ") }),
  ].filter(Boolean);
  return html`<p class="node-line quiet" data-obstacle="outlook">
    ${t("lab.raft.cannot_win", { reasons: reasons.join(t("verdict.separator")) })}
  </p>`;
}

/** @type {(props: { log: Picture.RaftLog }) => any} */
const Log = memo(({ log }) => {
  const shown = log.entries.slice(-ENTRIES_MOST);
  return html`<div class="raft-log" data-part="raft-log" style=${{ "--entries": shown.length }}>
    <${LogStrip}
      label=${t("lab.raft.log_hint", { n: log.entry_count })} none=${t("lab.raft.log_empty")}
      isCut=${log.entry_count > shown.length}
      blocks=${shown.map((entry) => html`<${Entry} key=${`${entry.index} ${entry.term}`} entry=${entry} />`)}
    />
  </div>`;
});

/** An entry that is not a command. */
export const RAFT_SIGNS = { no_op: "·", membership: "⚙" };

/** @type {(props: { entry: Picture.RaftEntry }) => any} */
const Entry = memo(({ entry }) => {
  const { index, term, kind, is_committed: isCommitted } = entry;
  const text = t(isCommitted ? "lab.raft.entry_committed" : "lab.raft.entry", {
    index,
    term,
    text: kind === "data" ? entry.text : t(`lab.raft.kind_${kind}`, { text: entry.text }),
  });
  return html`<${LogBlock}
    class=${`raft-entry tone-${toneOf(term)} ${isCommitted ? "" : "is-open"}`} label=${text} data-entry=${index}
    code=${`${term}${RAFT_SIGNS[kind] ?? ""}`} offset=${index}
  />`;
});
