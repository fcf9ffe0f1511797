// @ts-check
// A row of buttons that is one stop of the Tab key; arrow keys, Home and End move inside.

import { html } from "htm/preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Children with `data-roving` are the items. Which one is the stop follows the focus; at first it is the last one. */
export function Roving({ as = "div", children, ...rest }) {
  const box = useRef(null);
  useLayoutEffect(() => {
    const items = itemsOf(box.current);
    if (items.length > 0 && !items.some((item) => item.tabIndex === 0)) items.at(-1).tabIndex = 0;
  });
  const move = (event) => {
    const items = itemsOf(box.current);
    const at = items.indexOf(event.target.closest("[data-roving]"));
    const to = {
      ArrowLeft: at - 1,
      ArrowUp: at - 1,
      ArrowRight: at + 1,
      ArrowDown: at + 1,
      Home: 0,
      End: items.length - 1,
    }[event.key];
    if (to === undefined || at < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const item = items[Math.min(Math.max(to, 0), items.length - 1)];
    items.forEach((other) => (other.tabIndex = other === item ? 0 : -1));
    item.focus();
  };
  return html`<${as} ref=${box} ...${rest} onKeyDown=${move}>${children}</${as}>`;
}

const itemsOf = (box) => [...(box?.querySelectorAll("[data-roving]") ?? [])];
