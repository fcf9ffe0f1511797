// @ts-check
/* global VERSION */
// Keeps the whole site in the visitor's browser, so that it works offline. The build writes this file into the site's
// folder with its VERSION, a digest of all files: a new version is copied next to the one in use, and takes its place
// when no page uses that any more, or when the reader asks for it (static/site/offline.js). A copy is complete or is
// not used: pages never mix two versions.

const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));
const MANIFEST = "files.json";
const PREFIX = `glassmq ${worker.registration.scope} `;
const CACHE = `${PREFIX}${VERSION}`;
/** Files that are copied at the same time. */
const AT_A_TIME = 8;

/** @param {string} path */
const addressOf = (path) => new URL(path.replace(/(^|\/)index\.html$/, "$1"), worker.registration.scope).href;

worker.addEventListener("install", (event) => event.waitUntil(copy()));
worker.addEventListener("activate", (event) => event.waitUntil(take()));
worker.addEventListener("message", ({ data }) => data === "take over" && worker.skipWaiting());
worker.addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  if (url.endsWith(".wasm")) return; // see fetchWebAssembly in python.js, which asks for "?copy" when it has to
  if (method === "GET" && url.startsWith(worker.registration.scope)) event.respondWith(answer(event.request));
});

async function copy() {
  const cache = await caches.open(CACHE);
  const { files } = await (await fetch(addressOf(MANIFEST), { cache: "no-cache" })).json();
  const before = await copied();
  const waiting = Object.entries(/** @type {Record<string, string>} */ (files));
  const work = async () => {
    for (let next = waiting.pop(); next; next = waiting.pop()) await copyFile(cache, before, ...next);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  await cache.put(addressOf(MANIFEST), Response.json({ files }));
}

/**
 * The cache of an older version with its files' digests: what has not changed is not loaded again.
 *
 * @returns {Promise<{ cache: Cache, files: Record<string, string> } | null>}
 */
async function copied() {
  const older = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== CACHE);
  for (const name of older) {
    const cache = await caches.open(name);
    const manifest = await cache.match(addressOf(MANIFEST));
    if (manifest) return { cache, files: (await manifest.json()).files };
  }
  return null;
}

/**
 * @param {Cache} cache
 * @param {Awaited<ReturnType<typeof copied>>} before
 * @param {string} path
 * @param {string} digest
 */
async function copyFile(cache, before, path, digest) {
  const address = addressOf(path);
  const known = before?.files[path] === digest ? await before.cache.match(address) : null;
  const response = known ?? (await fetch(address, { cache: "no-cache" }));
  if (!response.ok) throw new Error(`${address}: ${response.status}`);
  await cache.put(address, response);
}

async function take() {
  const names = await caches.keys();
  await Promise.all(
    names.filter((name) => name.startsWith(PREFIX) && name !== CACHE).map((name) => caches.delete(name)),
  );
  await worker.clients.claim();
}

/**
 * A file of the copy; what it does not have (sources, or a file that the browser dropped) comes from the host, and so
 * does everything where the browser cannot read its copies.
 *
 * @param {Request} request
 */
async function answer(request) {
  return (await answerOfCopy(request).catch(() => null)) ?? fetch(request);
}

/** @param {Request} request */
async function answerOfCopy({ url, mode }) {
  const { origin, pathname, search } = new URL(url);
  const address = origin + pathname.replace(/\/index\.html$/, "/");
  const cache = await caches.open(CACHE);
  const kept = await cache.match(address);
  if (kept) return mode === "navigate" ? permitUnload(kept) : kept;
  // A page's addresses are relative to its folder, so its own must end with a slash; a host redirects as well.
  return mode === "navigate" && (await cache.match(`${address}/`)) ? Response.redirect(`${address}/${search}`) : null;
}

/**
 * Chromium is about to withhold the event `unload`, with which static/site/transport.js frees the memory of a page.
 *
 * @param {Response} page
 */
function permitUnload(page) {
  const headers = new Headers(page.headers);
  headers.set("Permissions-Policy", "unload=(self)");
  return new Response(page.body, { headers });
}
