// @ts-check
// Everything that acts in the world: tasks, links, disks. Each can be stepped alone, or held back.

import { html } from "htm/preact";
import { useComputed, useSignal } from "@preact/signals";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { span } from "../../common/world/format.js";
import { labelText } from "../../common/world/labels.js";
import { memo } from "../../common/memo.js";
import { command, stepActor } from "../../common/world/session.js";
import { calmView, view } from "../../common/world/view.js";
import { Button } from "../controls/button.js";
import { SearchInput } from "../controls/choices.js";
import { Icon } from "../controls/icons.js";

/** How long "hold" holds; long enough to let the others overtake. */
const HOLD_MS = 2000;

export function Actors() {
  const filter = useSignal("");
  const actors = useComputed(() => calmView.value.actors);
  const next = useComputed(() => calmView.value.next?.actor);
  const text = filter.value.toLowerCase();
  const shown = actors.value.filter((actor) => `${actor.name} ${actor.label}`.toLowerCase().includes(text));
  return html`
    <div class="panel-tools">
      <${SearchInput} of=${filter} label=${t("lab.actors.filter")} />
      <span class="quiet number">${shown.length}</span>
    </div>
    <ul class="actors">
      ${shown.map((actor) => html`<${Actor} key=${actor.name} actor=${actor} isNext=${actor.name === next.value} />`)}
    </ul>
  `;
}

/** @type {(props: { actor: Picture.Actor, isNext: boolean }) => any} */
const Actor = memo(({ actor, isNext }) => {
  const isHeld = actor.held_until_us > view.peek().time_us;
  return html`<li class=${`actor ${isNext ? "is-next" : ""}`}>
    <span class="actor-name mono ellipsis" title=${actor.name}>${actor.name}</span>
    <span class="actor-label ellipsis" title=${labelText(actor.label)}>
      ${isNext && html`<span class="badge">${t("lab.actors.next")}</span> `}
      ${
        isHeld
          ? t("lab.actors.held", { time: span(actor.held_until_us - view.peek().time_us) })
          : labelText(actor.label)
      }
    </span>
    <span class="number quiet" title=${t("lab.actors.steps")}>${count(actor.steps)}</span>
    <${Button}
      class="button small-button" onClick=${() => stepActor(actor.name)} title=${t("lab.actors.step")}
      label=${t("lab.actors.step_of", { name: actor.name })}
    >
      <${Icon} name="step" />
    </${Button}>
    <${Button}
      class="button small-button" aria-pressed=${isHeld}
      onClick=${() => command(isHeld ? "release" : "hold", actor.name, isHeld ? {} : { ms: HOLD_MS })}
      title=${t("lab.actors.hold")} label=${t("lab.actors.hold_of", { name: actor.name })}
    >
      <${Icon} name="hold" />
    </${Button}>
  </li>`;
});
