// @ts-check
// Keeps the site for use offline (static/site/service_worker.js), and offers a newer version when there is one. Where a
// browser stores nothing, or the reader saves data, the site comes from its host at each visit.

import { t } from "../common/i18n.js";
import { say } from "./foot_line.js";

const ROOT = new URL("../../", import.meta.url);
const workers = navigator.serviceWorker;

/** Loads the page again at the moment that it shows: before that, its address has to be that of the moment. */
export function openAgain() {
  dispatchEvent(new Event("beforeleave"));
  location.reload();
}

/** Forgets all copies of the site and loads the page again: for one that is damaged. Without the host, they stay. */
export async function loadAgain() {
  // The service worker leaves this request to the browser.
  const answer = await fetch(new URL("versions.json", ROOT), { method: "HEAD", cache: "no-store" }).catch(() => null);
  if (!answer?.ok) return say(t("site.no_host"), "alert", { label: t("site.again"), act: loadAgain });
  const registrations = (await workers?.getRegistrations().catch(() => [])) ?? [];
  await Promise.all(registrations.filter(({ scope }) => scope === ROOT.href).map((each) => each.unregister()));
  const names = (await globalThis.caches?.keys().catch(() => [])) ?? [];
  await Promise.all(
    names.filter((name) => name.startsWith(`glassmq ${ROOT.href} `)).map((name) => caches.delete(name)),
  );
  await replaceCached().catch(() => {}); // the page says once more what is missing
  return location.reload();
}

/** Replaces what the browser's HTTP cache has of Python, whatever that is. */
async function replaceCached() {
  const { files } = await (await fetch(new URL("files.json", ROOT), { cache: "reload" })).json();
  const paths = Object.keys(files).filter((path) => path.startsWith("python/") || path === "versions.json");
  const replace = async (/** @type {string} */ path) =>
    (await fetch(new URL(path, ROOT), { cache: "reload" })).arrayBuffer();
  await Promise.all(paths.map(replace));
}

// The first service worker that takes this page has its version. The next one has a newer version, and this page's
// files are gone, whichever page let it take over.
let isControlled = Boolean(workers?.controller);
workers?.addEventListener("controllerchange", () => {
  if (isControlled) openAgain();
  isControlled = true;
});

/** @param {ServiceWorkerRegistration} registration */
function offer({ waiting }) {
  if (!waiting || !workers.controller) return;
  const act = () => waiting.postMessage("take over");
  say(t("site.newer"), "status", { label: t("site.reload"), act });
}

async function keep() {
  const registration = await workers.register(new URL("service_worker.js", ROOT), { scope: ROOT.pathname });
  offer(registration);
  registration.addEventListener("updatefound", () => {
    registration.installing?.addEventListener("statechange", () => offer(registration));
  });
  await workers.ready;
  document.documentElement.dataset.offline = "ready";
}

function begin() {
  if (!workers || /** @type {any} */ (navigator).connection?.saveData) return;
  keep().catch((error) => console.warn(`the site is not kept for use offline: ${error}`));
}

/** Calls `begin` when the page's worker has what it needs, or has failed: until then the copy would slow it down. */
function beginAfterWorker() {
  const page = document.documentElement;
  const isDone = () => ["ready", "failed", undefined].includes(page.dataset.worker);
  if (isDone()) return begin();
  const observer = new MutationObserver(() => {
    if (!isDone()) return;
    observer.disconnect();
    begin();
  });
  return observer.observe(page, { attributeFilter: ["data-worker"] });
}

// The page itself comes first.
if (document.readyState === "complete") beginAfterWorker();
else addEventListener("load", beginAfterWorker, { once: true });
