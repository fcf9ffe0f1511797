// @ts-check
// Two worlds of one seed side by side: what differed at first, where they begin to differ, and both stages, which
// are at the same virtual time.

import { html, render } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { computed } from "@preact/signals";
import { addressOf } from "../../common/addresses.js";
import "../../common/chrome.js";
import { elementOf } from "../../common/elements.js";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { bilingual, virtualTime } from "../../common/world/format.js";
import { labelText } from "../../common/world/labels.js";
import { commandLine } from "../../common/world/command_line.js";
import { commandsApart } from "../../common/world/compare.js";
import { ComparisonControls } from "./controls.js";
import { firstDifference } from "./first_difference.js";
import { listenToKeys } from "./keys.js";
import { apart, both, frameOf, views } from "./two_worlds.js";
import { ACTIONS, goTo, playing, startTimeKeeper, time } from "./time.js";
import { Button } from "../../parts/controls/button.js";

const address = new URLSearchParams(location.hash.slice(1));
const links = [address.get("left") ?? "", address.get("right") ?? ""];
const startUs = /^\d{1,12}$/.test(address.get("at") ?? "") ? Number(address.get("at")) : null;
const query = new URLSearchParams(location.search);
const scenario = query.get("scenario") ?? "";

/** A theme that the address asks for holds for both stages too. */
const theme = query.has("theme") ? `&theme=${encodeURIComponent(query.get("theme") ?? "")}` : "";

const done = computed(() => {
  const [left, right] = both.value ?? [];
  return left && right ? commandsApart(left.commands, right.commands) : [[], []];
});
const title = computed(() => bilingual(both.value?.[0].title) || scenario);

function Pair() {
  return html`<div class="pair">
    <header class="pair-head">
      <h1 class="ellipsis">${t("lab.pair.title", { title: title.value })}</h1>
      <${FirstDifference} />
    </header>
    <${Side} side=${0} /><${Side} side=${1} />
    <${ComparisonControls} />
  </div>`;
}

/** Reserves its room: nothing moves when it is known. */
function FirstDifference() {
  const found = firstDifference.value;
  const text = () => {
    if (!found) return t("lab.pair.comparing");
    if ("unknown" in found) return t("lab.pair.unknown");
    const at = virtualTime(found.time_us);
    if (found.event === null) return t("lab.pair.same", { events: count(found.events), time: at });
    return t("lab.pair.same_until", { event: count(found.event - 1), time: at });
  };
  const known = found && found.event !== null ? found : null;
  const sign = known ? "≠" : found && !("unknown" in found) ? "=" : "…";
  return html`<p class="pair-first" id="first-difference" role="status">
    <span class="pair-sign" aria-hidden="true">${sign}</span> <span>${text()}</span>
    ${
      known &&
      html`<${Button} class="button small-button" id="go-to-difference" onClick=${() => goTo(known.time_us)}>
        ${t("lab.stopped.show")}
      </${Button}>`
    }
  </p>`;
}

/** @param {{ side: number }} props */
function Side({ side }) {
  const frame = useRef(/** @type {HTMLIFrameElement | null} */ (null));
  useEffect(() => frameOf(side, frame.current), []);
  const name = t(side === 0 ? "lab.pair.left" : "lab.pair.right");
  const link = views[side].value?.link ?? links[side];
  const bad = (views[side].value?.invariants ?? []).filter((one) => !one.ok).length;
  return html`<section class="pair-side" aria-label=${name} data-side=${side}>
    <header class="pair-side-head">
      <h2>${name}</h2>
      <${Changes} commands=${done.value[side]} />
      ${bad > 0 && html`<span class="problem-text pair-bad">✕ ${t("lab.pair.violated", { n: bad })}</span>`}
      <a class="pair-alone" href=${`/lab/${encodeURIComponent(scenario)}?exact#${link}`}>${t("lab.pair.alone")}</a>
    </header>
    <p class="pair-then" data-then>${thenText(firstDifference.value, side)}</p>
    <iframe
      ref=${frame}
      title=${t("lab.pair.stage", { name })}
      src=${addressOf(`/lab/${encodeURIComponent(scenario)}?embed=pair${theme}#${links[side]}`)}
    ></iframe>
  </section>`;
}

/** What was done in this world only.
    @param {{ commands: Parameters<typeof commandLine>[0][] }} props */
const Changes = ({ commands }) =>
  html`<span class="pair-changes">
    ${
      commands.length === 0
        ? html`<span class="quiet">${both.value && t("lab.pair.as_it_is")}</span>`
        : commands.map((command, index) => html`<span class="badge" key=${index}>${commandLine(command)}</span>`)
    }
  </span>`;

/**
 * What this side did when the two first differed.
 *
 * @param {typeof firstDifference.value} found
 * @param {number} side
 */
function thenText(found, side) {
  if (!found || found.event === null) return "";
  const { caption, node, actor, label } = found[side === 0 ? "left" : "right"];
  return bilingual(caption) || `${node}: ${actor.replace(/^[^/]*\//, "")}: ${labelText(label)}`;
}

/** The address leads to the position of both. */
function keepAddress() {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  return both.subscribe(() => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const shown = both.peek();
      const timeUs = time.peek();
      if (!shown || playing.peek() || timeUs === null || shown.some((one) => one.busy !== null)) return;
      const [left, right] = shown.map((one) => one.link);
      const at = new URLSearchParams({ left, right, at: String(timeUs) });
      history.replaceState(history.state, "", `${location.pathname}${location.search}#${at}`);
    }, 500);
  });
}

document.body.dataset.apart = "no";
apart.subscribe((found) => (document.body.dataset.apart = Object.keys(found).length > 0 ? "yes" : "no"));
const page = elementOf("page-place");
page.replaceChildren();
if (scenario && links.every(Boolean)) {
  render(html`<${Pair} />`, page);
  startTimeKeeper(startUs);
  keepAddress();
  listenToKeys((action) => ACTIONS[action]());
} else {
  render(html`<p class="empty">${t("lab.pair.no_links")} <a href="/lab">${t("lab.title")}</a></p>`, page);
}
