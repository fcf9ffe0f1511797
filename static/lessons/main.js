// @ts-check
// Puts a lesson's page together: the lesson next to the lab's stage, which is the very one of /lab.

import { html, render } from "htm/preact";
import { useEffect } from "preact/hooks";
import "../common/chrome.js";
import { elementOf } from "../common/elements.js";
import { t } from "../common/i18n.js";
import { isLooking } from "../parts/actions/thing.js";
import { listenToKeys } from "../parts/controls/keys.js";
import { Banner } from "../parts/controls/banner.js";
import { Controls } from "../parts/controls/controls.js";
import { Caption } from "../parts/stage/caption.js";
import { Dock, dockOpen } from "../parts/controls/dock.js";
import { Connection } from "../parts/controls/header.js";
import { KeysButton, MotionToggle } from "../parts/controls/view_buttons.js";
import { Sequence } from "../parts/stage/sequence.js";
import { isCrowded } from "../parts/stage/fitting.js";
import { Stage } from "../parts/stage/stage.js";
import { WORLD_PANELS, WorldDialogs } from "../parts/panel/world_panels.js";
import { restWhile } from "../common/world/session.js";
import { loaded, view } from "../common/world/view.js";
import { followTheWorld } from "./flow.js";
import { isSummary } from "./lesson.js";
import { LessonPanel } from "./panel.js";
import { PresentedTitle, textOpen, turnPage } from "./presented_title.js";
import { replaying } from "./replay.js";
import { followTheSides, side, SideSwitch } from "./phone_tabs.js";
import { openWorld } from "./world.js";

const PANELS = {
  sequence: Sequence,
  ...WORLD_PANELS,
};

function Page() {
  useEffect(
    () => view.subscribe(({ playing }) => (document.documentElement.dataset.playing = playing ? "yes" : "no")),
    [],
  );
  useEffect(() => replaying.subscribe((now) => (document.documentElement.dataset.replaying = now ? "yes" : "no")), []);
  return html`
    <div
      class="lesson"
      data-page=${isSummary.value ? "summary" : "step"}
      data-side=${side.value}
      data-text=${textOpen.value ? "open" : "closed"}
    >
      <${LessonPanel} />
      <div class="lab lesson-lab">
        <${Controls} />
        ${
          loaded.value
            ? html`<${Stage} title=${html`<${PresentedTitle} />`}><${Banner} /></${Stage}><${Caption} />`
            : html`<div class="stage-frame"><p class="loading">${t("live.waiting")}</p></div>`
        }
        <${Dock} place="bottom" groups=${[Object.keys(PANELS)]} panels=${PANELS} />
      </div>
      ${!isSummary.value && html`<${SideSwitch} />`}
    </div>
    <${WorldDialogs} />
  `;
}

/** Where the stage has not the room for letters that can be read, the panels below it yield, once: whoever opens them
    again wants them. */
function giveRoomOnce() {
  const stop = isCrowded.subscribe((crowded) => {
    if (!crowded) return;
    dockOpen.value = false;
    queueMicrotask(() => stop());
  });
}

openWorld();
render(html`<${Connection} />`, elementOf("connection-place"));
render(html`<${MotionToggle} /><${KeysButton} />`, elementOf("controls-place"));
const page = elementOf("page-place");
page.replaceChildren();
render(html`<${Page} />`, page);
followTheWorld();
followTheSides();
giveRoomOnce();
listenToKeys(turnPage);
restWhile(isLooking);
