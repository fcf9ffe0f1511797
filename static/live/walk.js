// @ts-check
// Arrow keys walk along things in a row, of which only one is in the tab order.

/** A handler for the element around them: ← → Home End move the focus among what `selector` finds. */
export const walkAlong = (selector) => (event) => {
  const all = [...event.currentTarget.querySelectorAll(selector)];
  const at = all.indexOf(document.activeElement);
  const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: all.length - 1 }[event.key];
  if (at < 0 || next === undefined || !all[next]) return;
  event.preventDefault();
  all[next].focus();
};
