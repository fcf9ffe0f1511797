// Cards that keep still: what has grown, a card or a part of it, stays as tall until it stands for something else
// (another state, folded, other queues), so that what stands below it does not jump while the world runs.

/** What a card stands for: with another answer it may take another height. */
const shapeOf = (card) =>
  [
    card.dataset.status,
    card.className.replace(/is-(accused|idle)/g, ""),
    ...[...card.querySelectorAll("[data-process-queue], [data-part]")].map(
      (part) => part.dataset.processQueue ?? part.className,
    ),
  ].join();

/** Watches the cards in `inner`; returns how to stop. */
export function keepCardsSteady(inner) {
  const shapes = new WeakMap();
  const sizes = new ResizeObserver((entries) => {
    for (const { target: card } of entries) if (shapes.has(card)) card.style.minHeight = `${card.offsetHeight}px`;
  });
  const look = () => {
    for (const card of inner.querySelectorAll(".node, [data-process-queue], [data-part]")) {
      const shape = shapeOf(card);
      if (shapes.get(card) === shape) continue;
      shapes.set(card, shape);
      card.style.minHeight = "";
      sizes.observe(card);
    }
  };
  const changes = new MutationObserver(look);
  changes.observe(inner, { childList: true, subtree: true, attributeFilter: ["class", "data-status"] });
  look();
  return () => (sizes.disconnect(), changes.disconnect());
}
