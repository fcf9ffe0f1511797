// @ts-check
// What every node's card has: its sign and name, which are the button of what can be done to it, and whether it runs.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { t } from "../../common/i18n.js";
import { shortMs } from "../../common/world/format.js";
import { stateText } from "../../common/world/labels.js";
import { acting } from "../actions/thing.js";
import { ROLE_LETTERS, accused } from "../../common/world/view.js";
import { Icon } from "../controls/icons.js";
import { PageCache } from "./page_cache.js";
import { forgetRoom } from "./room.js";
import { isFolded, toggleNode } from "../stage/folding.js";
import { Button } from "../controls/button.js";

/** `node` is the view's; `children` are the contents, `lasting` what outlives the process. `titleExtra` stands in the
    head behind the name; `summary` is all that is said of a node that is folded to a line,
    `beforehand` of one that has not begun. */
export function NodeCard({ name, node, titleExtra, summary, beforehand, lasting, children }) {
  const isAccused = useComputed(() => accused.value.has(name)).value;
  const isLine = useComputed(() => isFolded(name)).value;
  const shape = isLine ? "is-folded" : "is-unfolded";
  const isGone = node.status === "crashed" || node.status === "off";
  return html`<article
    class=${`node node-${node.role} is-${node.status} ${isAccused ? "is-accused" : ""} ${shape}`}
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
      <h2 class="node-name">
        <button
          class="fault-button"
          ...${acting("node", { name })}
          title=${t("lab.node.faults", { name })}
          aria-label=${t("lab.node.faults", { name })}
        >
          <span class=${`role-sign role-${node.role}`} aria-hidden="true">${ROLE_LETTERS[node.role]}</span>
          ${name} <${Icon} name="fault" />
        </button>
      </h2>
      ${
        (isLine && node.status === "off" && beforehand) ||
        (titleExtra ?? html`<span class="node-role quiet">${t(`lab.role.${node.role}`)}</span>`)
      }
      ${isLine && summary && node.status === "running" && html`<span class="node-summary quiet">${summary}</span>`}
      <span class="node-facts"><${Parts} node=${node} /><${Status} node=${node} /></span>
      ${
        isAccused &&
        html`<span class="accused-sign" title=${t("lab.node.accused")}>
          ✕<span class="sr-only">${t("lab.node.accused")}</span>
        </span>`
      }
      <${Button}
        class="fold-button" aria-expanded=${!isLine} onClick=${() => (forgetRoom(), toggleNode(name))}
        label=${t(isLine ? "lab.node.unfold" : "lab.node.fold", { name })}
      >
        ${isLine ? "▸" : "▾"}
      </${Button}>
    </header>
    ${
      !isLine &&
      html`
        ${isGone ? html`<p class="node-gone">${stateText(node)}</p>` : children}
        ${lasting}
        ${node.page_cache && html`<${PageCache} node=${name} cache=${node.page_cache} />`}
      `
    }
  </article>`;
}

/** The roles that it has in a transaction over several nodes; the nodes of a two-phase commit have theirs as sign. */
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
