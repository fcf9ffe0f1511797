// The address of what is on the page: scenario, seed and every command, in the fragment. Whoever opens it gets the
// identical run. The address bar follows; the server is not asked again for that.

import { view } from "./view.js";

const WRITE_AFTER_MS = 400;

/** The run that the address asks for: { scenario, seed?, link?, world?, exact? } */
export function requestOfAddress() {
  const [, , scenario] = location.pathname.split("/");
  const search = new URLSearchParams(location.search);
  const request = {};
  if (scenario) request.scenario = decodeURIComponent(scenario);
  if (/^\d+$/.test(search.get("seed") ?? "")) request.seed = Number(search.get("seed"));
  if (search.get("world")) request.world = search.get("world");
  const link = location.hash.slice(1);
  if (link) request.link = link;
  // Other pages lead to the very event; who comes back to an address of this page goes on where the world stands by
  // now.
  if (link && search.has("exact")) request.exact = true;
  return request;
}

export function shareAddress() {
  const address = new URL(location.href);
  address.search = "";
  const { link, scenario } = view.peek();
  if (scenario) address.pathname = `/lab/${encodeURIComponent(scenario)}`;
  address.hash = link;
  return address.href;
}

/** Where others follow this world while it is published. */
export function followAddress() {
  const address = new URL(shareAddress());
  address.hash = "";
  address.searchParams.set("world", view.peek().world.id);
  return address.href;
}

export function keepAddressInStep() {
  let timer;
  let written = null;
  return view.subscribe(({ link, playing }) => {
    if (!link || link === written || playing) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      written = link;
      const address = new URL(location.href);
      address.searchParams.delete("exact");
      address.hash = link;
      history.replaceState(history.state, "", address);
    }, WRITE_AFTER_MS);
  });
}
