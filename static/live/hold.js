// @ts-check
// Lists that run by are hard to click and to read: while the pointer or the keyboard focus is inside, they hold still.

import { useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";

/** Returns what to show, whether it is held, and the handlers for the element that holds it. */
export function useHold(current) {
  const isPointed = useSignal(false);
  const isFocused = useSignal(false);
  const kept = useRef(current);
  const isHeld = isPointed.value || isFocused.value;
  if (!isHeld) kept.current = current;
  return {
    value: kept.current,
    isHeld,
    handlers: {
      onPointerEnter: () => (isPointed.value = true),
      onPointerLeave: () => (isPointed.value = false),
      onFocusIn: () => (isFocused.value = true),
      onFocusOut: (event) => (isFocused.value = event.currentTarget.contains(event.relatedTarget)),
    },
  };
}
