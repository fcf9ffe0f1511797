// Puts a lesson's page together: the lesson beside the lab's stage, which is the very one of /lab.

import { html, render } from "htm/preact";
import { useEffect } from "preact/hooks";
import "../common/chrome.js";
import { t } from "../common/i18n.js";
import { listenToKeys } from "../lab/keys.js";
import { Actors } from "../lab/panels/actors.js";
import { AuditDialog } from "../lab/panels/audit.js";
import { Banner, Notice } from "../lab/panels/banner.js";
import { Controls } from "../lab/panels/controls.js";
import { DeadLettersDialog } from "../lab/panels/dead_letters.js";
import { Dock } from "../lab/panels/dock.js";
import { Explorer } from "../lab/panels/explorer.js";
import { Faults, NodeFaults } from "../lab/panels/faults.js";
import { FrameDialog } from "../lab/panels/frame_dialog.js";
import { Frames } from "../lab/panels/frames.js";
import { HalfDialog } from "../lab/panels/half_dialog.js";
import { Connection } from "../lab/panels/header.js";
import { Invariants } from "../lab/panels/invariants.js";
import { KeyMap } from "../lab/panels/key_map.js";
import { Life } from "../lab/panels/life.js";
import { Log } from "../lab/panels/log.js";
import { Backlog } from "../lab/panels/backlog.js";
import { Money } from "../lab/panels/money.js";
import { RecordDialog } from "../lab/panels/record_dialog.js";
import { SettingDialog } from "../lab/panels/settings.js";
import { Sequence } from "../lab/panels/sequence.js";
import { Settings } from "../lab/panels/settings.js";
import { SourceView } from "../lab/panels/source_view.js";
import { Stage } from "../lab/panels/stage.js";
import { Timers } from "../lab/panels/timers.js";
import { TwoPhaseCommit } from "../lab/panels/xa.js";
import { loaded, view } from "../lab/view.js";
import { Choices } from "./choices.js";
import { followTheWorld } from "./flow.js";
import { isSummary } from "./lesson.js";
import { LessonPanel } from "./panel.js";
import { replaying } from "./replay.js";
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
    <div class="lesson" data-page=${isSummary.value ? "summary" : "step"}>
      <${LessonPanel} />
      <div class="lab lesson-lab">
        <${Controls} /><${Banner} />
        ${loaded.value ? html`<${Stage} />` : html`<p class="loading">${t("live.waiting")}</p>`}
        <${Dock} place="bottom" groups=${[Object.keys(PANELS)]} panels=${PANELS} />
      </div>
    </div>
    <${NodeFaults} />
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

openWorld();
render(html`<${Connection} />`, document.getElementById("connection-place"));
render(html`<${Choices} />`, document.getElementById("controls-place"));
const page = document.getElementById("page-place");
page.replaceChildren();
render(html`<${Page} />`, page);
followTheWorld();
listenToKeys();
