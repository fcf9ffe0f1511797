// @ts-check
// What the page shows, as signals: the traffic, the files of both stores, the file that is open; and how the server is
// asked. The address holds it all, so that a link leads to the same byte.

import { computed, signal } from "@preact/signals";
import { get } from "../common/request.js";

/** @type {Picture.StoreName[]} */
export const STORES = ["rocketmq", "kafka"];
/**
 * The views of the page, and what they are called.
 *
 * @type {Record<string, string>}
 */
export const VIEW_NAMES = {
  files: "word.files",
  find: "word.find_message",
  grow: "storage.view.grow",
  disk: "storage.view.disk",
  cache: "word.page_cache",
};
/** Views that start measurements: the site without a server has none. */
const RUNS = ["grow", "disk"];

/** Names of the fields of a traffic, in the order of the form. */
export const TRAFFIC = ["topics", "queues", "messages", "body_bytes", "distinct_keys", "batch_records", "codec"];

const asked = new URLSearchParams(location.search);

/** Null until the server has answered. */
export const stores = signal(/** @type {Picture.BothStores | null} */ (null));

/** The same for what is drawn only once they are there. */
export function knownStores() {
  if (stores.value === null) throw new TypeError("the stores are not known yet");
  return stores.value;
}

/** Why the last question was refused; null: it was not. */
export const refusal = signal(/** @type {string | null} */ (null));
export const isBusy = signal(false);
/** The place that is shown to the byte; null: none yet. */
export const place = signal(/** @type {{ store: Picture.StoreName, path: string, at: number } | null} */ (null));

const hash = signal(location.hash.slice(1));
addEventListener("hashchange", () => {
  // The link that skips the page's head names its main part, and chooses nothing.
  if (location.hash !== "#main") hash.value = location.hash.slice(1);
});
export const views = computed(() =>
  Object.keys(VIEW_NAMES).filter((name) => !RUNS.includes(name) || stores.value?.runs.includes(name)),
);
export const view = computed(() => (views.value.includes(hash.value) ? hash.value : views.value[0]));

/**
 * The address of a question about this traffic.
 *
 * @param {string} what
 * @param {object} more
 */
export const addressOf = (what, more) =>
  `/api/storage/${what}?${new URLSearchParams({ .../** @type {any} */ (knownStores().traffic), ...more })}`;

/**
 * What the server answers to it: {answer} or {why}.
 *
 * @param {string} what
 * @param {object} more
 */
export const ask = (what, more) => get(addressOf(what, more));

/**
 * Shows the stores of another traffic; refused, everything stays as it is.
 *
 * @param {Record<string, string>} traffic
 */
export async function load(traffic) {
  isBusy.value = true;
  const { answer, why } = await get(`/api/storage/stores?${new URLSearchParams(traffic)}`);
  isBusy.value = false;
  refusal.value = why ?? null;
  if (!answer) return;
  stores.value = answer;
  place.value = firstPlace(answer.stores.rocketmq, "commitlog", "rocketmq");
  const address = new URL(location.href);
  for (const [name, value] of Object.entries(answer.traffic)) address.searchParams.set(name, value);
  history.replaceState(history.state, "", address);
}

/** As the address says; without anything there, the default traffic. */
export function loadFirst() {
  return load(Object.fromEntries([...asked].filter(([name]) => TRAFFIC.includes(name))));
}

/**
 * @param {Picture.FileOfStore[]} files
 * @param {string} format
 * @param {Picture.StoreName} store
 */
function firstPlace(files, format, store) {
  const file = files.find((one) => one.format === format);
  return file ? { store, path: file.path, at: 0 } : null;
}

/**
 * Opens a file at a byte, in the view of files.
 *
 * @param {Picture.StoreName} store
 * @param {string} path
 * @param {number} at
 */
export function show(store, path, at = 0) {
  place.value = { store, path, at };
  if (view.value !== "files") location.hash = "files";
}
