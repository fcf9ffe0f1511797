// @ts-check
// The brokers that this one's name server knows, in the page's head: each with the way to its page, if it reports one.
// They are asked for when the list is opened.

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { signal } from "@preact/signals";
import { elementOf } from "../../../common/elements.js";
import { request } from "../../../common/request.js";
import { t } from "../../../common/i18n.js";

/** null: not asked yet. */
const known = signal(/** @type {Picture.KnownBroker[] | null} */ (null));
const problem = signal("");

async function ask() {
  const { answer, why = "" } = await request("GET", "/api/live/brokers");
  problem.value = why;
  if (answer) known.value = answer.brokers;
}

export function Brokers() {
  useEffect(() => {
    elementOf("brokers-place").addEventListener("toggle", (/** @type {any} */ event) => {
      if (event.newState === "open") ask();
    });
  }, []);
  return html`
    <p class="quiet">${t(known.value ? "live.brokers.hint" : "live.brokers.asking")}</p>
    ${problem.value && html`<p class="problem" role="alert">${problem.value}</p>`}
    <ul class="known-brokers" role="list">
      ${known.value?.map((broker) => html`<${Known} key=${broker.address} broker=${broker} />`)}
    </ul>
  `;
}

/** @param {{ broker: Picture.KnownBroker }} props */
function Known({ broker: { name, id, address, page, is_own: isOwn, is_alive: isAlive } }) {
  const title = html`<span>
    <strong>${name}</strong> ${t(id === 0 ? "live.brokers.master" : "live.brokers.slave", { id })}
  </span>`;
  const why = isOwn ? "here" : isAlive ? "no_page" : "silent";
  return html`<li data-broker=${address} data-alive=${isAlive}>
    ${isAlive && page && !isOwn ? html`<a href=${`${page}/live`}>${title}</a>` : title}
    <code class="quiet">${address}</code>
    <span class=${isAlive ? "quiet" : "problem-text"}>
      ${isAlive && page && !isOwn ? page : t(`live.brokers.${why}`)}
    </span>
  </li>`;
}
