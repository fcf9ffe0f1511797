// @ts-check
// Writing down what clients and broker say to each other: began and ended here, shown by the lab's page.

import { html } from "htm/preact";
import { useSignal } from "@preact/signals";
import { faults, record, stopRecording } from "../../common/faults.js";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { Button } from "../../parts/controls/button.js";

export function Record() {
  const client = useSignal("");
  const hasBodies = useSignal(false);
  const { recording } = faults.value;
  const begin = (event) => {
    event.preventDefault();
    record(client.value.trim(), hasBodies.value);
  };
  const kept = recording?.count ?? 0;
  return html`<form class="record-form" onSubmit=${begin} aria-label=${t("record.title")}>
    <strong>${t("record.title")}</strong>
    ${
      recording?.is_on
        ? html`<span class="quiet number" role="status">${t("record.is_on", { n: count(recording.count) })}</span>
            <${Button} onClick=${stopRecording}>${t("word.stop")}</${Button}>`
        : html`<label>
              <span class="quiet">${t("field.client")}</span>${" "}
              <input
                class="input"
                placeholder=${t("field.any")}
                maxlength="200"
                value=${client.value}
                onInput=${(event) => (client.value = event.target.value)}
              />
            </label>
            <label title=${t("record.bodies_hint")}>
              <input
                type="checkbox"
                checked=${hasBodies.value}
                onChange=${(event) => (hasBodies.value = event.target.checked)}
              />${" "}
              ${t("record.bodies")}
            </label>
            <button type="submit" class="button">${t("record.begin")}</button>`
    }
    ${
      kept > 0 &&
      html`<a href="/lab/wire">${t("record.show", { n: count(kept) })}</a>
        <a href="/api/faults/frames" download>${t("record.download")}</a>`
    }
  </form>`;
}
