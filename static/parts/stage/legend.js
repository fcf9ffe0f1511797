// @ts-check
// The legend of the stage: every sign with its name and what it means. The same words are at the signs themselves.

import { html } from "htm/preact";
import { signal } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { ROLE_LETTERS } from "../../common/world/view.js";
import { RAFT_SIGNS } from "../nodes/raft/peer.js";
import { Button } from "../controls/button.js";
import { Dialog } from "../controls/dialog.js";
import { Icon } from "../controls/icons.js";

const isOpen = signal(false);

const role = (name) => html`<span class=${`role-sign role-${name}`}>${ROLE_LETTERS[name]}</span>`;
const frame = (shape, sign = "") =>
  html`<span class=${`frame-${shape}`}><span class="frame-sign">${sign}</span></span>`;
const cell = (kind) => html`<span class=${`cell tone-orange ${kind}`}>4</span>`;
const entry = (kind, sign = "") =>
  html`<span class=${`block raft-entry tone-sky ${kind}`}>
    <span class="block-code">2${sign}</span><span class="block-offset">7</span>
  </span>`;
const pill = (letter, state) =>
  html`<span class=${`pill is-${state}`}><span class="order-letter">${letter}</span></span>`;
const link = (state) =>
  html`<svg class="legend-link" viewBox="0 0 40 10"><path class=${`link is-${state}`} d="M0 5H40" /></svg>`;
const tree = (kind) =>
  html`<svg class="legend-tree" viewBox="-10 -10 20 20">
    <g class=${`tree-${kind}`}>
      ${kind === "red" ? html`<circle r="8" />` : html`<rect x="-8" y="-8" width="16" height="16" rx="1.5" />`}
    </g>
  </svg>`;

/** Group -> [its text: a key, or what follows "lab.legend."; the sign].
    @type {{ [group: string]: [string, any][] }} */
const SIGNS = {
  nodes: Object.keys(ROLE_LETTERS).map((name) => [`lab.role.${name}`, role(name)]),
  frames: [
    ["lab.sequence.request", frame("request")],
    ["lab.sequence.response", frame("response")],
    ["lab.sequence.oneway", frame("oneway")],
    ["signal", frame("signal")],
    ["lab.frame.dropped", frame("lost", "✕")],
    ["link_poor", link("poor")],
    ["link_cut", link("cut")],
  ],
  queues: [
    ["cell", cell("")],
    ["cell_done", cell("is-done")],
    ["flag", html`<span class="legend-flag">▲</span>`],
    ["commit_log.not_flushed", html`<span class="block tone-orange is-unflushed"></span>`],
    ["tree_red", tree("red")],
    ["tree_black", tree("black")],
    ["lab.consumer.pulling", html`<span class="pull-sign is-pulling"><span>⇠</span></span>`],
    ["full", html`<span class="badge badge-warning">❚❚</span>`],
  ],
  locks: [
    ["lab.order.broker", pill("B", "held")],
    ["lab.order.queue", pill("Q", "held")],
    ["lab.order.process", pill("P", "held")],
    ["lab.order.chain", pill("↻", "held")],
    ["lock_off", pill("B", "off")],
    ["lock_expired", pill("B", "expired")],
  ],
  raft: [
    ["raft_committed", entry("")],
    ["raft_open", entry("is-open")],
    ["lab.raft.kind_no_op", entry("", RAFT_SIGNS.no_op)],
    ["raft_membership", entry("", RAFT_SIGNS.membership)],
  ],
  others: [
    ["timer", html`<${Icon} name="timer" />`],
    ["act", html`<${Icon} name="fault" />`],
    ["lab.node.accused", html`<span class="accused-sign">✕</span>`],
  ],
};

/** The button, and the dialog that it opens. */
export const Legend = () => html`
  <${Button} class="button small-button" id="legend-button" opens=${isOpen}>${t("lab.legend.title")}</${Button}>
  <${Dialog}
    isOpen=${isOpen.value}
    onClose=${() => (isOpen.value = false)}
    id="legend"
    kind="legend-dialog"
    title=${t("lab.legend.title")}
  >
    <div class="legend-groups">
      ${Object.entries(SIGNS).map(
        ([group, signs]) => html`<section key=${group} aria-labelledby=${`legend-${group}`}>
          <h3 id=${`legend-${group}`}>${t(group === "nodes" ? "lab.faults.nodes" : `lab.legend.group_${group}`)}</h3>
          <dl class="legend-signs">
            ${signs.map(
              ([name, sign]) => html`<div key=${name} class="legend-sign">
                <dt aria-hidden="true">${sign}</dt>
                <dd>${t(name.includes(".") ? name : `lab.legend.${name}`)}</dd>
              </div>`,
            )}
          </dl>
        </section>`,
      )}
    </div>
  </${Dialog}>
`;
