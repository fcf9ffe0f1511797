// @ts-check
// A row of buttons that is one stop of the Tab key; arrow keys, Home and End move inside.

import { html } from "htm/preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { allOf, targetOf } from "./elements.js";

/**
 * Children with `data-roving` are the items. Which one is the stop follows the focus; at first it is the last one.
 *
 * @param {{ as?: string, children?: any, [property: string]: any }} properties
 */
export function Roving({ as = "div", children, ...rest }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    const items = itemsOf(box.current);
    const last = items.at(-1);
    if (last && !items.some(({ tabIndex }) => tabIndex === 0)) last.tabIndex = 0;
  });
  /** @param {KeyboardEvent} event */
  const move = (event) => {
    const items = itemsOf(box.current);
    const holder = targetOf(event)?.closest("[data-roving]");
    const at = items.findIndex((one) => one === holder);
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

/** @param {HTMLElement | null} box */
const itemsOf = (box) => (box ? allOf("[data-roving]", HTMLElement, box) : []);
