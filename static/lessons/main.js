// Puts a lesson's page together: the lesson next to the lab's stage, which is the very one of /lab.

import { html, render } from "htm/preact";
import { useEffect } from "preact/hooks";
import "../common/chrome.js";
import { t } from "../common/i18n.js";
import { markInOrder } from "../common/palette.js";
import { Popover } from "../lab/actions/popover.js";
import { isLooking } from "../lab/actions/thing.js";
import { listenToKeys } from "../lab/keys.js";
import { Actors } from "../lab/panels/run/actors.js";
import { AuditDialog } from "../lab/panels/analysis/audit.js";
import { Banner, Notice } from "../lab/panels/controls/banner.js";
import { Controls } from "../lab/panels/controls/controls.js";
import { DeadLettersDialog } from "../lab/panels/messages/dead_letters.js";
import { Caption } from "../lab/panels/stage/caption.js";
import { Dock, dockOpen } from "../lab/panels/controls/dock.js";
import { Explorer } from "../lab/panels/analysis/explorer.js";
import { Faults } from "../lab/panels/controls/faults.js";
import { FrameDialog } from "../lab/panels/stage/frame_dialog.js";
import { Frames } from "../lab/panels/stage/frames.js";
import { HalfDialog } from "../lab/panels/messages/half_dialog.js";
import { Connection } from "../lab/panels/controls/header.js";
import { Invariants } from "../lab/panels/run/invariants.js";
import { KeyMap } from "../lab/panels/controls/key_map.js";
import { Life } from "../lab/panels/messages/life.js";
import { Log } from "../lab/panels/run/log.js";
import { Backlog } from "../lab/panels/analysis/backlog.js";
import { Money } from "../lab/panels/analysis/money.js";
import { RecordDialog } from "../lab/panels/messages/record_dialog.js";
import { SettingDialog } from "../lab/panels/controls/settings.js";
import { Sequence } from "../lab/panels/stage/sequence.js";
import { Settings } from "../lab/panels/controls/settings.js";
import { SourceView } from "../lab/panels/run/source_view.js";
import { isCrowded } from "../lab/panels/stage/fitting.js";
import { Stage } from "../lab/panels/stage/stage.js";
import { Timers } from "../lab/panels/run/timers.js";
import { TwoPhaseCommit } from "../lab/panels/analysis/xa.js";
import { restWhile } from "../lab/session.js";
import { loaded, view } from "../lab/view.js";
import { Choices } from "./choices.js";
import { followTheWorld } from "./flow.js";
import { isSummary } from "./lesson.js";
import { LessonPanel } from "./panel.js";
import { replaying } from "./replay.js";
import { followTheSides, side, SideSwitch } from "./phone_tabs.js";
import { openWorld } from "./world.js";

const PANELS = {
  sequence: Sequence,
  life: Life,
  money: Money,
  xa: TwoPhaseCommit,
  source: SourceView,
  log: Log,
  backlog: Backlog,
  frames: Frames,
  timers: Timers,
  invariants: Invariants,
  actors: Actors,
  faults: Faults,
  settings: Settings,
  explorer: Explorer,
};

function Page() {
  useEffect(
    () => view.subscribe(({ playing }) => (document.documentElement.dataset.playing = playing ? "yes" : "no")),
    [],
  );
  useEffect(() => replaying.subscribe((now) => (document.documentElement.dataset.replaying = now ? "yes" : "no")), []);
  return html`
    <div class="lesson" data-page=${isSummary.value ? "summary" : "step"} data-side=${side.value}>
      <${LessonPanel} />
      <div class="lab lesson-lab">
        <${Controls} />
        ${
          loaded.value
            ? html`<${Stage}><${Banner} /></${Stage}><${Caption} />`
            : html`<div class="stage-frame"><p class="loading">${t("live.waiting")}</p></div>`
        }
        <${Dock} place="bottom" groups=${[Object.keys(PANELS)]} panels=${PANELS} />
      </div>
      ${!isSummary.value && html`<${SideSwitch} />`}
    </div>
    <${Popover} />
    <${HalfDialog} />
    <${DeadLettersDialog} />
    <${FrameDialog} />
    <${RecordDialog} />
    <${AuditDialog} />
    <${SettingDialog} />
    <${KeyMap} />
    <${Notice} />
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
render(html`<${Connection} />`, document.getElementById("connection-place"));
render(html`<${Choices} />`, document.getElementById("controls-place"));
const page = document.getElementById("page-place");
page.replaceChildren();
render(html`<${Page} />`, page);
followTheWorld();
followTheSides();
giveRoomOnce();
listenToKeys();
markInOrder();
restWhile(isLooking);
