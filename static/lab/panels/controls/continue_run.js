// @ts-check
// A scenario of which this browser has a run from before: go on with that one, or begin again. Escape begins again; the
// old run stays where it is.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { count } from "../../../common/format.js";
import { language, t } from "../../../common/i18n.js";
import { run } from "../../../common/world/session.js";
import { foundRun } from "../../../common/world/view.js";
import { Button } from "../../../parts/controls/button.js";
import { Icon } from "../../../parts/controls/icons.js";

const clock = new Intl.DateTimeFormat(language === "zh" ? "zh-CN" : "en-GB", { hour: "2-digit", minute: "2-digit" });

export function ContinueRun() {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const found = foundRun.value;
  useEffect(() => {
    if (found) dialog.current?.showModal();
  }, [found]);
  if (!found) return null;
  const time = clock.format(Date.now() - 1000 * found.age_s);
  const beginAgain = (event) => {
    event.preventDefault();
    run.openFound(true);
  };
  return html`<dialog
    class="small-dialog"
    id="continue-run"
    ref=${dialog}
    aria-labelledby="continue-run-title"
    onCancel=${beginAgain}
  >
    <div class="inspector-body">
      <h2 id="continue-run-title">${t("lab.found.title", { time, event: count(found.event) })}</h2>
      <div class="form-end">
        <${Button} class="button button-primary" autofocus onClick=${() => run.openFound(false)}>
          <${Icon} name="play" />${t("lab.found.continue")}
        </${Button}>
        <${Button} onClick=${beginAgain}><${Icon} name="restart" />${t("lab.found.again")} <kbd>Esc</kbd></${Button}>
      </div>
    </div>
  </dialog>`;
}
