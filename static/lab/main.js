// @ts-check
// Puts the lab's page together: the stage, the panels around it, and the world behind them.

import { html, render } from "htm/preact";
import { computed, signal, useComputed } from "@preact/signals";
import { useEffect, useLayoutEffect } from "preact/hooks";
import "../common/chrome.js";
import { elementOf } from "../common/elements.js";
import { t } from "../common/i18n.js";
import { isLooking } from "../parts/actions/thing.js";
import { bilingual } from "../common/world/format.js";
import { labData } from "../common/world/commands.js";
import { listenToKeys } from "../parts/controls/keys.js";
import { Begin, BeginAgain, Waiting } from "./panels/controls/begin_again.js";
import { Banner } from "../parts/controls/banner.js";
import { Compare } from "../parts/analysis/compare.js";
import { ContinueRun } from "./panels/controls/continue_run.js";
import { Controls } from "../parts/controls/controls.js";
import { Aside } from "../parts/controls/view_buttons.js";
import { Caption } from "../parts/stage/caption.js";
import { dockOpen, Drawer, drawerOpen, shape } from "../parts/controls/dock.js";
import { Choices, Connection, Title } from "../parts/controls/header.js";
import { Sequence } from "../parts/stage/sequence.js";
import { ShareDialog } from "../parts/controls/share.js";
import { ComparisonDialog } from "../parts/controls/comparison.js";
import { WORLD_PANELS, WorldDialogs } from "../parts/panel/world_panels.js";
import { Story } from "./panels/run/story.js";
import { Stage } from "../parts/stage/stage.js";
import { isCompared, ownWorldOf, paired } from "./comparison/inside.js";
import { goToEventOfAddress, keepAddressInStep, requestOfAddress } from "../common/world/permalink.js";
import { restWhile, tellWhatNeverCame, useSource } from "../common/world/session.js";
import { openRecording } from "./source_recording.js";
import { openSocket } from "../common/world/source_socket.js";
import { loaded, view } from "../common/world/view.js";

const PANELS = {
  ...WORLD_PANELS,
  story: Story,
  compare: Compare,
};

/** What a presentation has above its stage. */
function PresentedTitle() {
  const title = useComputed(() => bilingual(view.value.title) || view.value.scenario);
  return html`
    <h1 class="presented-title ellipsis">${title.value}</h1>
    <${Aside} name="panels" isOpen=${drawerOpen} /><${Aside} name="sequence" isOpen=${dockOpen} />
  `;
}

function Page() {
  useLayoutEffect(() => void (document.documentElement.dataset.labShape = shape.value), [shape.value]);
  useEffect(
    () =>
      view.subscribe(({ playing, busy }) => {
        const { dataset } = document.documentElement;
        dataset.playing = playing ? "yes" : "no";
        dataset.busy = busy === null ? "no" : "yes";
      }),
    [],
  );
  return html`
    <div class="lab" data-drawer=${drawerOpen.value ? "open" : "closed"}>
      ${
        loaded.value
          ? html`<${Stage} title=${html`<${PresentedTitle} />`}><${Banner} /><${BeginAgain} /></${Stage}>
            <div class="caption-row"><${Caption} /><${Begin} /></div>`
          : html`<${Waiting} />`
      }
      <${Drawer} panels=${PANELS} />
      <section
        class="strip"
        data-open=${dockOpen.value ? "yes" : "no"}
        id="panel-sequence"
        tabindex="-1"
        aria-label=${t("lab.panel.sequence")}
      >
        <${Controls} /><${Sequence} />
      </section>
    </div>
    <${WorldDialogs} /><${ContinueRun} /><${ShareDialog} /><${ComparisonDialog} />
  `;
}

if (labData.recording) useSource(openRecording(labData.recording));
else {
  const source = openSocket(isCompared ? () => ownWorldOf(requestOfAddress()) : requestOfAddress);
  useSource(isCompared ? paired(source) : source);
  if (!isCompared) {
    goToEventOfAddress();
    keepAddressInStep();
  }
}
render(html`<${Title} />`, elementOf("title-place"));
render(html`<${Connection} />`, elementOf("connection-place"));
render(html`<${Choices} />`, elementOf("controls-place"));
const page = elementOf("page-place");
page.replaceChildren();
render(html`<${Page} />`, page);
if (!isCompared) listenToKeys();
// Nor does a world go on while nobody sees it, here or in another tab.
/** Whether the page is in a tab that nobody sees. */
const isHidden = signal(document.hidden);
document.addEventListener("visibilitychange", () => (isHidden.value = document.hidden));
restWhile(computed(() => isLooking.value || (isHidden.value && view.value.world.viewers === 1)));
tellWhatNeverCame();
