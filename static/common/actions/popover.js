// @ts-check
// What can be done to the thing that was pressed, at the thing. The focus goes into it; arrow keys move, Escape and a
// press elsewhere close it, and the focus goes back to where it was.

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { allOf, targetOf } from "../elements.js";
import { openThing } from "./thing.js";

const GAP_PX = 6;

/** @param {HTMLElement} box */
const actionsIn = (box) => allOf("[data-action]", HTMLButtonElement, box);

/**
 * @typedef {object} Action
 * @property {string} id
 * @property {string} label
 * @property {string} [hint]
 * @property {() => void} [act] What it does, where it needs no fields.
 * @property {object} [form] The properties of the form with its fields.
 *
 * @param {object} properties
 * @param {HTMLElement} properties.anchor What was pressed.
 * @param {string} properties.title
 * @param {string} [properties.text]
 * @param {Action[]} properties.actions
 * @param {any} properties.Form The component of the fields; it calls `onDone`.
 * @param {any} [properties.children] The text below the actions.
 */
export function ActionsPopover({ anchor, title, text, actions, Form, children }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const chosen = useSignal(/** @type {string | null} */ (null));
  const asked = actions.find((action) => action.id === chosen.value && action.form);

  const close = (focusBack = true) => {
    if (openThing.peek()?.anchor === anchor) openThing.value = null;
    if (focusBack && anchor.isConnected) anchor.focus({ preventScroll: true });
  };
  /** @param {Action} action */
  const press = (action) => {
    if (action.form) chosen.value = chosen.value === action.id ? null : action.id;
    else {
      // While it is open time may rest, so that what is meant is still there.
      action.act?.();
      close();
    }
  };
  /** @param {KeyboardEvent & { target: HTMLElement }} event */
  const keys = (event) => {
    if (event.key === "Escape") close();
    else if (event.target.matches("input, select") || !box.current || !move(box.current, event)) return;
    event.preventDefault();
    event.stopPropagation();
  };

  const again = () => box.current && place(box.current, anchor);
  useLayoutEffect(() => void again(), [chosen.value, actions.length]);
  useEffect(() => {
    const [first] = box.current ? [...actionsIn(box.current), box.current] : [];
    first?.focus({ preventScroll: true });
    /** @param {PointerEvent} event */
    const elsewhere = (event) => {
      const target = targetOf(event);
      if (!box.current?.contains(target) && !anchor.contains(target)) close(false);
    };
    document.addEventListener("pointerdown", elsewhere, true);
    addEventListener("resize", again);
    return () => {
      document.removeEventListener("pointerdown", elsewhere, true);
      removeEventListener("resize", again);
    };
  }, []);
  /** @param {FocusEvent & { relatedTarget: Node | null }} event */
  const leave = (event) => {
    if (event.relatedTarget && !box.current?.contains(event.relatedTarget)) close(false);
  };

  return html`<div
    class="popover"
    id="actions"
    role="dialog"
    aria-labelledby="actions-title"
    tabindex="-1"
    ref=${box}
    onKeyDown=${keys}
    onFocusOut=${leave}
  >
    <h2 id="actions-title">${title}</h2>
    ${text && html`<p class="quiet">${text}</p>`}
    <div class=${`actions ${actions.length > 5 ? "is-many" : ""}`} role="group" aria-labelledby="actions-title">
      ${actions.map(
        (action) =>
          html`<button
            key=${action.id}
            type="button"
            class="button action"
            data-action
            data-kind=${action.id}
            aria-expanded=${action.form ? chosen.value === action.id : undefined}
            title=${action.hint}
            onClick=${() => press(action)}
          >
            ${action.label}
          </button>`,
      )}
    </div>
    ${asked && html`<${Form} key=${asked.id} ...${asked.form} onDone=${() => close()} />`}${children}
  </div>`;
}

/**
 * Handles arrow keys, Home and End among the actions. Returns whether the key was one.
 *
 * @param {HTMLElement} box
 * @param {KeyboardEvent} event
 */
function move(box, event) {
  const items = actionsIn(box);
  const at = items.findIndex((item) => item === event.target);
  const last = items.length - 1;
  const to = { ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: last }[
    event.key
  ];
  if (to === undefined || last < 0) return false;
  items[(to + items.length) % items.length].focus();
  return true;
}

/**
 * Below the thing, else above it, else where it fits; always completely in the window.
 *
 * @param {HTMLElement} box
 * @param {HTMLElement} anchor
 */
function place(box, anchor) {
  const at = anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = box;
  const below = at.bottom + GAP_PX;
  const top = below + height <= innerHeight ? below : at.top - GAP_PX - height;
  box.style.left = `${Math.round(Math.max(GAP_PX, Math.min(at.left, innerWidth - width - GAP_PX)))}px`;
  box.style.top = `${Math.round(Math.max(GAP_PX, Math.min(top, innerHeight - height - GAP_PX)))}px`;
}
