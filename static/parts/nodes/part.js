// @ts-check
// A part of a card: its name, a sentence of what it holds, and, where the scenario is about it or a user opened it,
// all of it. Its name is the button that folds and unfolds it.

import { html } from "htm/preact";
import { t } from "../../common/i18n.js";
import { memo } from "../../common/memo.js";
import { SettingButton } from "../actions/setting_button.js";
import { acting } from "../actions/thing.js";
import { settingOfPart } from "../../common/world/settings.js";
import { isFocus, togglePart } from "../stage/folding.js";
import { Button } from "../controls/button.js";
import { forgetRoom, keepsRoom } from "./room.js";

/** The name of a part: the button that folds and unfolds it. `shows`: it is open, for whatever reason. */
export const PartName = ({ part, shows = isFocus(part), children }) =>
  html`<${Button}
    class="part-toggle" aria-expanded=${shows} onClick=${() => (forgetRoom(), togglePart(part))}
    title=${t(isFocus(part) ? "lab.part.fold" : "lab.part.unfold")}
  >
    ${children}
  </${Button}>`;

/** `part`: its name for folding.js, and as `data-part` that of its section; `of`: its node, where the name alone is not
    enough to hear; `keepsOpen`: it has a problem. The rest goes to the section. */
export function Part({ part, name, of, summary, tools, keepsOpen = false, class: kind = "", children, ...rest }) {
  const shows = isFocus(part) || keepsOpen;
  return html`<section
    class=${`part ${shows ? "is-open" : "is-line"} ${kind}`}
    ref=${keepsRoom}
    aria-label=${of ? `${of} ${name}` : name}
    data-part=${part.replaceAll("_", "-")}
    ...${rest}
  >
    <div class="part-head">
      <h3><${PartName} part=${part} shows=${shows}>${name}</${PartName}></h3>
      ${summary && html`<span class="part-summary">${summary}</span>`}
      ${shows && tools}
    </div>
    ${shows && children}
  </section>`;
}

/** The setting that rules a part of a node, next to it: "rebalance every ⏱ 2s". */
export const Rule = memo(({ node, part, label }) => {
  const name = settingOfPart(node, part);
  return html`<${SettingButton} class="rule" ...${{ node, name, label }} ...${acting("rule", { node, name })} />`;
});
