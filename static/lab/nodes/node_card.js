// What every node's card has: its sign and name, whether it runs, and its menu of faults.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { shortMs } from "../format.js";
import { accused, openFaults } from "../view.js";
import { Icon } from "../panels/controls/icons.js";

export const ROLE_LETTERS = {
  producer: "P",
  name_server: "N",
  broker: "B",
  consumer: "C",
  transaction_coordinator: "TC",
  transaction_manager: "TM",
  resource_manager: "RM",
};

/** `node` is the view's; `children` are the contents, `lasting` what outlives the process. `titleExtra` stands in the
    head behind the name. */
export function NodeCard({ name, node, titleExtra, lasting, children }) {
  const isAccused = accused.value.has(name);
  const isGone = node.status === "crashed" || node.status === "off";
  return html`<article
    class=${`node node-${node.role} is-${node.status} ${isAccused ? "is-accused" : ""}`}
    id=${`node-${name}`}
    data-node=${name}
    data-status=${node.status}
    tabindex="-1"
    aria-label=${t("lab.node.label", {
      role: t(`lab.role.${node.role}`),
      name,
      status: t(`lab.status.${node.status}`),
    })}
  >
    <header class="node-head" data-anchor=${name}>
      <span class=${`role-sign role-${node.role}`} aria-hidden="true">${ROLE_LETTERS[node.role]}</span>
      <h2 class="node-name">${name}</h2>${titleExtra}
      <span class="node-facts"><${Parts} node=${node} /><${Status} node=${node} /></span>
      ${
        isAccused &&
        html`<span class="accused-sign" title=${t("lab.node.accused")}>
          ✕<span class="sr-only">${t("lab.node.accused")}</span>
        </span>`
      }
      <button
        type="button"
        class="button fault-button"
        aria-haspopup="dialog"
        onClick=${() => (openFaults.value = name)}
        title=${t("lab.node.faults", { name })}
        aria-label=${t("lab.node.faults", { name })}
      >
        <${Icon} name="fault" />
      </button>
    </header>
    ${
      isGone
        ? html`<p class="node-gone">
          ${t(`lab.node.is_${node.status === "off" && node.has_run ? "shut_down" : node.status}`)}
        </p>`
        : children
    }
    ${lasting}
  </article>`;
}

/** The parts that it plays in a transaction over several nodes; the nodes of a two-phase commit have theirs as sign. */
function Parts({ node: { role, xa_roles: parts } }) {
  if (!parts || ROLE_LETTERS[role] === parts[0]) return null;
  return html`<span
    class="badge xa-part"
    title=${parts.map((part) => t(`lab.xa.part_${part.toLowerCase()}`)).join("\n")}
  >
    ${parts.join(" ")}
  </span>`;
}

function Status({ node }) {
  const { status, incarnation = 0, skew_ms: skew = 0, held } = node;
  return html`
    ${status !== "running" && html`<span class=${`status status-${status}`}>${t(`lab.status.${status}`)}</span>`}
    ${
      incarnation > 0 &&
      html`<span class="badge" title=${t("lab.node.incarnation_hint")}>
        ${t("lab.node.incarnation", { n: incarnation + 1 })}
      </span>`
    }
    ${
      skew !== 0 &&
      html`<span class="badge badge-warning" title=${t("lab.node.skew_hint")}>
        ${skew > 0 ? "+" : "−"}${shortMs(Math.abs(skew))}
      </span>`
    }
    ${
      Array.isArray(held) &&
      held.length > 0 &&
      html`<span class="badge badge-warning"><${Icon} name="hold" /> ${held.length}</span>`
    }
  `;
}

/** A bar that runs out. `left` and `whole` in the same unit. */
export function Bar({ left, whole, label, kind = "" }) {
  const share = whole > 0 ? Math.min(1, Math.max(0, left / whole)) : 0;
  return html`<span class=${`bar ${kind}`} role="img" aria-label=${label} title=${label}>
    <span class="bar-fill" style=${{ transform: `scaleX(${share.toFixed(3)})` }}></span>
  </span>`;
}
