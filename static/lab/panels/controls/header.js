// The head of the page: the scenario, the state of the connection, share, export, publish, motion, key map.

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { useComputed } from "@preact/signals";
import { t } from "../../../common/i18n.js";
import { motionWanted, setMotion } from "../../../live/view.js";
import { labData } from "../../commands.js";
import { bilingual } from "../../format.js";
import { acceptDrops, importRun } from "../../import_run.js";
import { keyMapOpen } from "../../keys.js";
import { exportAddress, isRecording, publish } from "../../session.js";
import { loaded, mine, sequence, status, tell, view } from "../../view.js";
import { ExpertSwitch } from "./dock.js";
import { Icon } from "./icons.js";
import { followAddress, shareAddress } from "../../permalink.js";

export function Title() {
  const title = useComputed(() => bilingual(view.value.title) || view.value.scenario);
  const about = useComputed(() => bilingual(view.value.about));
  const seed = useComputed(() => view.value.seed);
  return html`<div class="scenario-title">
    <h1 class="ellipsis" title=${about.value}>${title.value || t("lab.title")}</h1>
    ${
      loaded.value &&
      html`<span class="quiet number scenario-seed" title=${t("lab.seed_hint")}>
        ${t("lab.seed", { seed: String(seed.value) })}
      </span>`
    }
    ${
      view.value.world.published &&
      html`<span class="badge">${t("lab.published", { n: view.value.world.viewers ?? 1 })}</span>`
    }
  </div>`;
}

export function Connection() {
  const shown = status.value;
  return html`<div
    class=${`connection connection-${shown}`}
    id="connection"
    data-status=${shown}
    data-sequence=${sequence.value ?? ""}
    title=${t(`lab.status_hint.${shown}`)}
  >
    <span class="connection-sign" aria-hidden="true"></span>
    <span class="connection-text" role="status">${t(`lab.connection.${shown}`)}</span>
  </div>`;
}

export function Choices() {
  const share = () => copy(shareAddress(), t("lab.share.copied"));
  const togglePublished = () => {
    const on = !published.peek();
    publish(on);
    if (on) copy(followAddress(), t("lab.publish_copied"));
  };
  const published = useComputed(() => view.value.world.published ?? false);
  return html`
    <${ExpertSwitch} />
    ${
      !isRecording() &&
      html`
        <button type="button" class="button" id="share" onClick=${share} title=${`${t("lab.share.hint")} (c)`}>
          <${Icon} name="share" /><span class="button-text">${t("lab.share.title")}</span>
        </button>
        <${Export} /><${Import} />
        ${
          mine.value &&
          html`<button
            type="button"
            class="button"
            id="publish"
            aria-pressed=${published.value}
            onClick=${togglePublished}
            title=${t("lab.publish_hint")}
          >
            ${t("lab.publish")}
          </button>`
        }
      `
    }
    <button
      type="button"
      class="button toggle toggle-motion"
      aria-pressed=${motionWanted.value}
      onClick=${() => setMotion(!motionWanted.value)}
      title=${t("controls.motion_hint").replace(/[(（]m[)）]/, "")}
    >
      <span class="toggle-sign" aria-hidden="true"></span><span class="button-text">${t("controls.motion")}</span>
    </button>
    <button
      type="button"
      class="button"
      onClick=${() => (keyMapOpen.value = true)}
      aria-haspopup="dialog"
      title=${t("keys.open")}
    >
      <kbd aria-hidden="true">?</kbd><span class="sr-only">${t("keys.title")}</span>
    </button>
  `;
}

/** Plain http from another machine gives no clipboard: then the address stands in a box to copy from. */
async function copy(address, done) {
  try {
    await navigator.clipboard.writeText(address);
    tell(done);
  } catch {
    prompt(t("lab.share.copy_this"), address);
  }
}

/** Another run, from a file that was exported before: chosen here, or dropped anywhere on the page. */
function Import() {
  const take = (file) => importRun(file, labData.import_max_bytes).catch((error) => tell(error.message, true));
  useEffect(() => acceptDrops(take, (isOver) => document.body.classList.toggle("is-dropping", isOver)), []);
  const chosen = (event) => {
    const [file] = event.currentTarget.files;
    event.currentTarget.value = "";
    if (file) take(file);
  };
  return html`<label class="button import-button" title=${t("lab.import.hint")}>
    <span class="wide-only"><${Icon} name="open" /></span>
    <span>${t("lab.import.short")}</span>
    <input type="file" class="sr-only" id="import-file" accept=".json,application/json" onChange=${chosen} />
  </label>`;
}

function Export() {
  if (!loaded.value) return null;
  const link = (format) =>
    html`<a
      class="button"
      id=${`export-${format}`}
      href=${exportAddress(format)}
      download
      title=${t(`lab.export.${format}_hint`)}
    >
      <span class="wide-only"><${Icon} name="save" /></span>${format.toUpperCase()}
    </a>`;
  return html`${link("json")}${link("html")}`;
}
