// @ts-check
// Nothing jumps during stepping: a part of a card that once needed some height keeps it, so that what is below
// stays in place. What is folded frees its space (the styles say what keeps it, by --room).

import { remPx } from "../../common/viewer/rem_px.js";

/** Element -> { height, isLine }: the most that it needed, in rem, as a line or opened. */
const most = new WeakMap();

const sizes = new ResizeObserver((entries) => {
  for (const { target, borderBoxSize } of /** @type {any[]} */ (entries)) {
    if (target.matches(".is-line")) continue;
    const height = Math.ceil(borderBoxSize[0].blockSize) / remPx.peek();
    if (height <= (most.get(target) ?? 0)) continue;
    most.set(target, height);
    target.style.setProperty("--room", `${height.toFixed(3)}rem`);
  }
});

/** For `ref`. */
export const keepsRoom = (element) => element && sizes.observe(element);

/** A user folded something: everything is measured again. */
export function forgetRoom() {
  for (const element of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[style*='--room']"))) {
    most.delete(element);
    element.style.removeProperty("--room");
    sizes.unobserve(element);
    sizes.observe(element);
  }
}
