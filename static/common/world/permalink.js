// @ts-check
// The address of what is on the page: scenario, seed and every command, in the fragment; and `at`, the event
// that is shown, if it is not the newest. Everyone who opens it gets the identical run. The address bar follows; the
// server is not asked again for that.

import { addressOf, pageOf } from "../addresses.js";
import { scrub } from "./session.js";
import { loaded, mine, view } from "./view.js";

const WRITE_AFTER_MS = 400;

/**
 * @typedef {object} RunRequest
 * @property {string} [scenario]
 * @property {number} [seed]
 * @property {string} [link]
 * @property {string} [world]
 * @property {boolean} [exact]
 * @property {boolean} [asks] Whether the user is asked before a run of earlier goes on.
 */

/**
 * The run that the address asks for. A page that was opened at an address begins at its moment, and asks before it goes
 * on with a run of earlier; one that was loaded again, or lost its connection, is back where it was.
 *
 * @param {Pick<Location, "pathname" | "search" | "hash">} address
 */
export function requestOfAddress(address = location) {
  const [navigation] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
  const isOpened = navigation?.type === "navigate" && !loaded.peek();
  const [, , scenario] = pageOf(address.pathname).split("/");
  const search = new URLSearchParams(address.search);
  /** @type {RunRequest} */
  const request = {};
  if (scenario) request.scenario = decoded(scenario);
  if (/^\d+$/.test(search.get("seed") ?? "")) request.seed = Number(search.get("seed"));
  const world = search.get("world");
  if (world) request.world = world;
  const link = address.hash.slice(1);
  if (link) request.link = link;
  if (link && (isOpened || search.has("exact"))) request.exact = true;
  if (isOpened && !link && !request.world) request.asks = true;
  return request;
}

/**
 * A part of an address as text; one that is badly encoded stands for itself.
 *
 * @param {string} part
 */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Goes to the event that the address names, as soon as the run has come that far. */
export function goToEventOfAddress() {
  const wanted = new URLSearchParams(location.search).get("at") ?? "";
  if (!/^\d{1,7}$/.test(wanted)) return;
  const stop = view.subscribe(({ busy, events_total: total, event }) => {
    if (!loaded.peek() || busy !== null) return;
    if (mine.peek() && Number(wanted) < total && event !== Number(wanted)) scrub(Number(wanted));
    queueMicrotask(() => stop());
  });
}

/**
 * The event that is shown, if it is not the newest.
 *
 * @param {Picture.ShownWorld} shown
 */
const lookedAt = ({ in_past: inPast, event }) => (inPast ? String(event) : null);

/**
 * @param {URL} address
 * @param {string | null} event
 */
function putEvent(address, event) {
  if (event === null) address.searchParams.delete("at");
  else address.searchParams.set("at", event);
}

export function shareAddress() {
  const address = new URL(location.href);
  address.search = new URLSearchParams(address.search).has("present") ? "present=1" : "";
  const { link, scenario } = view.peek();
  if (scenario) address.pathname = addressOf(`/lab/${encodeURIComponent(scenario)}`);
  putEvent(address, lookedAt(view.peek()));
  address.hash = link;
  return address.href;
}

/**
 * A frame with this run's stage, for other pages.
 *
 * @param {number | string} width
 * @param {number | string} height
 */
export function embedCode(width, height) {
  const address = new URL(shareAddress());
  address.searchParams.delete("present");
  address.searchParams.set("embed", "1");
  const [source, title] = [address.href, view.peek().scenario].map((text) =>
    text.replaceAll("&", "&amp;").replaceAll('"', "&quot;"),
  );
  return `<iframe src="${source}" title="GlassMQ: ${title}" width="${width}" height="${height}"></iframe>`;
}

/** Where others follow this world while it is published. */
export function followAddress() {
  const address = new URL(shareAddress());
  address.hash = "";
  address.search = new URLSearchParams({ world: view.peek().world.id }).toString();
  return address.href;
}

export function keepAddressInStep() {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let written = "";
  /** @type {(shown: Picture.ShownWorld) => [link: string, event: string | null]} */
  const placeOf = (shown) => [shown.link, mine.peek() ? lookedAt(shown) : null];

  /** @param {Picture.ShownWorld} shown */
  function write(shown) {
    const [link, event] = placeOf(shown);
    clearTimeout(timer);
    written = `${link} ${event}`;
    const address = new URL(location.href);
    address.searchParams.delete("exact");
    putEvent(address, event);
    address.hash = link;
    history.replaceState(history.state, "", address);
  }

  // The page in another language begins at this address, and so does the way back: it has to be that of this moment.
  for (const left of ["beforeleave", "pagehide"]) addEventListener(left, () => view.peek().link && write(view.peek()));
  return view.subscribe((shown) => {
    const [link, event] = placeOf(shown);
    if (!link || `${link} ${event}` === written || shown.playing || shown.busy) return;
    clearTimeout(timer);
    timer = setTimeout(write, WRITE_AFTER_MS, shown);
  });
}
