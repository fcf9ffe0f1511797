// Puts the lab's page together: the stage, the panels around it, and the world behind them.

import { html, render } from "htm/preact";
import { computed } from "@preact/signals";
import { useEffect } from "preact/hooks";
import "../common/chrome.js";
import { t } from "../common/i18n.js";
import { markInOrder } from "../common/palette.js";
import { Popover } from "./actions/popover.js";
import { isLooking } from "./actions/thing.js";
import { labData } from "./commands.js";
import { listenToKeys } from "./keys.js";
import { Actors } from "./panels/run/actors.js";
import { AuditDialog } from "./panels/analysis/audit.js";
import { Begin, BeginAgain } from "./panels/controls/begin_again.js";
import { Banner, Notice } from "./panels/controls/banner.js";
import { Compare } from "./panels/analysis/compare.js";
import { ContinueRun } from "./panels/controls/continue_run.js";
import { Controls } from "./panels/controls/controls.js";
import { DeadLettersDialog } from "./panels/messages/dead_letters.js";
import { Caption } from "./panels/stage/caption.js";
import { Drawer, drawerOpen, shape } from "./panels/controls/dock.js";
import { Explorer } from "./panels/analysis/explorer.js";
import { Faults } from "./panels/controls/faults.js";
import { FrameDialog } from "./panels/stage/frame_dialog.js";
import { Frames } from "./panels/stage/frames.js";
import { HalfDialog } from "./panels/messages/half_dialog.js";
import { Choices, Connection, Title } from "./panels/controls/header.js";
import { Invariants } from "./panels/run/invariants.js";
import { KeyMap } from "./panels/controls/key_map.js";
import { Life } from "./panels/messages/life.js";
import { Log } from "./panels/run/log.js";
import { Backlog } from "./panels/analysis/backlog.js";
import { Money } from "./panels/analysis/money.js";
import { RecordDialog } from "./panels/messages/record_dialog.js";
import { Sequence } from "./panels/stage/sequence.js";
import { ShareDialog } from "./panels/controls/share.js";
import { ComparisonDialog } from "./panels/controls/comparison.js";
import { SettingDialog, Settings } from "./panels/controls/settings.js";
import { SourceView } from "./panels/run/source_view.js";
import { Story } from "./panels/run/story.js";
import { Stage } from "./panels/stage/stage.js";
import { Timers } from "./panels/run/timers.js";
import { TwoPhaseCommit } from "./panels/analysis/xa.js";
import { isCompared, ownWorldOf, paired } from "./comparison/inside.js";
import { goToEventOfAddress, keepAddressInStep, requestOfAddress } from "./permalink.js";
import { restWhile, tellWhatNeverCame, useSource } from "./session.js";
import { openRecording } from "./source_recording.js";
import { openSocket } from "./source_socket.js";
import { isHidden, loaded, view } from "./view.js";

const PANELS = {
  story: Story,
  source: SourceView,
  invariants: Invariants,
  timers: Timers,
  actors: Actors,
  faults: Faults,
  settings: Settings,
  log: Log,
  frames: Frames,
  explorer: Explorer,
  backlog: Backlog,
  compare: Compare,
  life: Life,
  money: Money,
  xa: TwoPhaseCommit,
};

function Page() {
  useEffect(() => void (document.documentElement.dataset.labShape = shape.value), [shape.value]);
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
    <div class="lab" data-shape=${shape.value} data-drawer=${drawerOpen.value ? "open" : "closed"}>
      ${
        loaded.value
          ? html`<${Stage}><${Banner} /><${Caption} /><${Begin} /><${BeginAgain} /></${Stage}>`
          : html`<div class="stage-frame"><p class="loading">${t("live.waiting")}</p></div>`
      }
      <${Drawer} panels=${PANELS} />
      <section class="strip" id="panel-sequence" tabindex="-1" aria-label=${t("lab.panel.sequence")}>
        <${Controls} /><${Sequence} />
      </section>
    </div>
    <${Popover} />
    <${ContinueRun} />
    <${HalfDialog} />
    <${DeadLettersDialog} />
    <${FrameDialog} />
    <${RecordDialog} />
    <${AuditDialog} />
    <${SettingDialog} />
    <${ShareDialog} />
    <${ComparisonDialog} />
    <${KeyMap} />
    <${Notice} />
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
markInOrder();
render(html`<${Title} />`, document.getElementById("title-place"));
render(html`<${Connection} />`, document.getElementById("connection-place"));
render(html`<${Choices} />`, document.getElementById("controls-place"));
const page = document.getElementById("page-place");
page.replaceChildren();
render(html`<${Page} />`, page);
if (!isCompared) listenToKeys();
// Nor does a world go on while nobody sees it, here or in another tab.
restWhile(computed(() => isLooking.value || (isHidden.value && view.value.world.viewers === 1)));
tellWhatNeverCame();
