// @ts-check
// Walks through an answer by itself: each moment stays on the stage for as long as its sentence takes to read.

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { language, t } from "../../common/i18n.js";
import { bilingual } from "../../common/world/format.js";
import { Button } from "../controls/button.js";
import { Icon } from "../controls/icons.js";

const LEAST_MS = 1300;
const PER_LETTER_MS = language === "zh" ? 110 : 38;

/** `steps`: those that have happened; `show` shows the moment of one. */
export function WalkButton({ steps, show }) {
  /** Which step is shown; -1: no walk. */
  const at = useSignal(-1);
  useEffect(() => {
    const step = steps[at.value];
    if (!step) return undefined;
    show(step);
    const next = () => (at.value = at.peek() + 1 < steps.length ? at.peek() + 1 : -1);
    const timer = setTimeout(next, LEAST_MS + PER_LETTER_MS * bilingual(step.text).length);
    return () => clearTimeout(timer);
  }, [at.value]);
  const isWalking = at.value >= 0;
  return html`<${Button}
    class="button small-button why-walk" aria-pressed=${isWalking} onClick=${() => (at.value = isWalking ? -1 : 0)}
  >
    <${Icon} name=${isWalking ? "pause" : "play"} /> ${t(isWalking ? "word.stop" : "lab.why.walk")}
  </${Button}>`;
}
