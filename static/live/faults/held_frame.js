// @ts-check
// One frame that waits: its meaning, header, properties and body, which may be changed before it goes on.

import { html } from "htm/preact";
import { useSignal } from "@preact/signals";
import { dropHeld, letPass } from "../../common/faults.js";
import { allOf } from "../../common/elements.js";
import { bytes } from "../../common/format.js";
import { language, t } from "../../common/i18n.js";
import { Way } from "./rules.js";
import { HEADER_LETTERS } from "./table.js";
import { Button } from "../../parts/controls/button.js";
import { sending } from "../../parts/controls/choices.js";

/** Header fields that hold the properties, which are shown one by one. */
const PROPERTIES = ["properties", "i"];
/** A placeholder for bytes that are not text. */
const NO_TEXT = "\ufffd";

/** @type {(props: { frame: Picture.HeldFrame }) => any} */
export function HeldFrame({ frame }) {
  const isChanged = useSignal(false);
  const { id, header, properties, body, body_bytes: size, body_hex: hex } = frame;
  const hasLetters = !frame.name.startsWith("reply") && "a" in header && "b" in header;
  const isWhole = hex.length === 0 || (hex.length + 1) / 3 === size;
  const isText = isWhole && !body.includes(NO_TEXT);
  const fields = Object.keys(header).filter((name) => !properties || !PROPERTIES.includes(name));
  const keys = properties && [...new Set(["KEYS", ...Object.keys(properties)])];

  const submit = sending((typed) => decide(letPass(id, changesIn(typed, frame))));
  const note = (event) => {
    isChanged.value = Object.keys(changesIn(new FormData(event.currentTarget), frame)).length > 0;
  };
  return html`<form class="held-details" onSubmit=${submit} onInput=${note} aria-label=${t("faults.frame")}>
    <p class="held-sentence">${frame.meaning[language]}</p>
    <p class="quiet">
      <${Way} ...${frame} /> · ${frame.is_oneway ? t("faults.one_way") : `opaque ${frame.opaque}`} ·
      ${" "}${bytes(frame.frame_bytes)}${frame.remark ? ` · ${frame.remark}` : ""}
    </p>
    <div class="held-parts">
      ${keys && html`<${Part} title=${t("word.properties")} part="properties" names=${keys} values=${properties} />`}
      <${Part} title=${t("faults.header")} part="fields" names=${fields} values=${header} hasLetters=${hasLetters} />
      <fieldset class="held-body">
        <legend>${t("word.body")} <span class="quiet">${bytes(size)}</span></legend>
        ${
          isText
            ? html`<textarea
              name="body"
              class="mono"
              rows="4"
              aria-label=${t("word.body")}
              defaultValue=${body}
            ></textarea>`
            : html`<p class="quiet">${t("faults.no_text")}</p>`
        }
        ${size > 0 && html`<${Bytes} hex=${hex} />`}
      </fieldset>
    </div>
    <div class="action-end">
      <${Button} onClick=${() => decide(dropHeld(id))}>${t("faults.what.drop")}</${Button}>
      <button type="submit" class="button button-primary">
        ${t(isChanged.value ? "faults.pass_changed" : "faults.pass")}
      </button>
    </div>
  </form>`;
}

const Bytes = ({ hex }) =>
  html`<details>
    <summary>${t("inspector.bytes")}</summary>
    <pre class="held-hex" tabindex="0">${hex}</pre>
  </details>`;

/**
 * The focus goes to what waits next.
 *
 * @param {Promise<boolean>} action
 */
async function decide(action) {
  if (await action)
    requestAnimationFrame(() => (allOf(".held-frame")[0] ?? document.getElementById("faults"))?.focus());
}

function Part({ title, part, names, values, hasLetters = false }) {
  if (names.length === 0) return null;
  return html`<fieldset>
    <legend>${title}</legend>
    ${names.map(
      (name) =>
        html`<label key=${name} class="form-row">
          <span class="mono" title=${name}>${hasLetters ? `${name} · ${HEADER_LETTERS[name] ?? ""}` : name}</span>
          <input class="input mono" name=${`${part}.${name}`} autocomplete="off" defaultValue=${values[name] ?? ""} />
        </label>`,
    )}
  </fieldset>`;
}

/** What differs from the frame as it came: { fields, properties, body }, each only where something does. */
function changesIn(data, { header, properties, body }) {
  const changes = {};
  for (const [part, before] of Object.entries({ fields: header, properties: properties ?? {} })) {
    for (const [name, value] of data) {
      const field = name.slice(part.length + 1);
      if (name.startsWith(`${part}.`) && value !== (before[field] ?? "")) (changes[part] ??= {})[field] = value;
    }
  }
  // A form sends its line breaks as CR LF.
  const text = data.get("body")?.replaceAll("\r\n", "\n");
  if (text !== undefined && text !== body.replaceAll("\r\n", "\n")) changes.body = text;
  return changes;
}
