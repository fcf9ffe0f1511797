// @ts-check
// The presentation mode: the stage over the whole window, in letters for the last row of a room. The address keeps it,
// so that a teacher can link to it. Panels are hidden until somebody asks for them; then they cover the stage.

import { computed, effect, signal } from "@preact/signals";

const PARAMETER = "present";

const { classList } = document.body;
/** A frame within another page is too small for it. */
export const canPresent =
  classList.contains("lab-page") && !classList.contains("is-embedded") && !classList.contains("is-paired");

export const presenting = signal(canPresent && new URLSearchParams(location.search).get(PARAMETER) === "1");

/** The projector's theme: large letters, too. */
export const isProjector = signal(document.documentElement.dataset.theme === "projector");
addEventListener("themechange", () => (isProjector.value = document.documentElement.dataset.theme === "projector"));

/** Letters of the stage stay large, and it moves in its frame where it is larger than that. */
export const isLegible = computed(() => canPresent && (presenting.value || isProjector.value));
effect(() => void document.documentElement.classList.toggle("is-legible", isLegible.value));

effect(() => {
  document.documentElement.classList.toggle("is-presenting", presenting.value);
  // The root's letters are of another size now, as with another theme: drawings measure them again.
  dispatchEvent(new Event("themechange"));
});

/** @param {boolean} on */
export function present(on) {
  if (!canPresent) return;
  presenting.value = on;
  const address = new URL(location.href);
  if (on) address.searchParams.set(PARAMETER, "1");
  else address.searchParams.delete(PARAMETER);
  history.replaceState(history.state, "", address);
}

export const togglePresentation = () => present(!presenting.peek());
