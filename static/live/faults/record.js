// @ts-check
// Writing down what clients and broker say to each other: began and ended here, shown by the lab's page.

import { html } from "htm/preact";
import { useSignal } from "@preact/signals";
import { faults, record, stopRecording } from "../../common/faults.js";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { Button } from "../../parts/controls/button.js";
import { Switch, TextInput, sending } from "../../parts/controls/choices.js";

export function Record() {
  const client = useSignal("");
  const hasBodies = useSignal(false);
  const { recording } = faults.value;
  const begin = sending(() => record(client.value.trim(), hasBodies.value));
  const kept = recording?.count ?? 0;
  const bodies = html`${" "}${t("record.bodies")}`;
  return html`<form class="record-form" onSubmit=${begin} aria-label=${t("record.title")}>
    <strong>${t("record.title")}</strong>
    ${
      recording?.is_on
        ? html`<span class="quiet number" role="status">${t("record.is_on", { n: count(recording.count) })}</span>
            <${Button} onClick=${stopRecording}>${t("word.stop")}</${Button}>`
        : html`<label>
              <span class="quiet">${t("field.client")}</span>${" "}
              <${TextInput} of=${client} class="input" placeholder=${t("field.any")} maxlength="200" />
            </label>
            <${Switch} class="" of=${hasBodies} text=${bodies} hint=${t("record.bodies_hint")} />
            <button type="submit" class="button">${t("record.begin")}</button>`
    }
    ${
      kept > 0 &&
      html`<a href="/lab/wire">${t("record.show", { n: count(kept) })}</a>
        <a href="/api/faults/frames" download>${t("record.download")}</a>`
    }
  </form>`;
}
