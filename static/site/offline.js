// @ts-check
// Keeps the site for use offline (static/site/service_worker.js), and offers a newer version when there is one. Where a
// browser stores nothing, or the reader saves data, the site comes from its host at each visit.

import { t } from "../common/i18n.js";
import { say } from "./foot_line.js";

const ROOT = new URL("../../", import.meta.url);
const workers = navigator.serviceWorker;

/** Forgets all copies of the site and loads the page again: for one that is damaged. */
export async function loadAgain() {
  const registrations = (await workers?.getRegistrations().catch(() => [])) ?? [];
  await Promise.all(registrations.filter(({ scope }) => scope === ROOT.href).map((each) => each.unregister()));
  const names = (await globalThis.caches?.keys().catch(() => [])) ?? [];
  await Promise.all(
    names.filter((name) => name.startsWith(`glassmq ${ROOT.href} `)).map((name) => caches.delete(name)),
  );
  await loadWebAssembly().catch(() => {}); // the page says once more what is missing
  location.reload();
}

/** Replaces the file that static/site/python.js takes from the browser's HTTP cache, whatever is there. */
async function loadWebAssembly() {
  const { pyodide } = await (await fetch(new URL("versions.json", ROOT))).json();
  const response = await fetch(new URL(`python/${pyodide}/pyodide.asm.wasm`, ROOT), { cache: "reload" });
  await response.arrayBuffer();
}

/** @param {ServiceWorkerRegistration} registration */
function offer({ waiting }) {
  if (!waiting || !workers.controller) return;
  const act = () => {
    workers.addEventListener("controllerchange", () => location.reload(), { once: true });
    waiting.postMessage("take over");
  };
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
