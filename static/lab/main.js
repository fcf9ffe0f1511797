// Puts the lab's page together: the stage, the panels around it, and the world behind them.

import { html, render } from "htm/preact";
import { useEffect } from "preact/hooks";
import "../common/chrome.js";
import { t } from "../common/i18n.js";
import { labData } from "./commands.js";
import { listenToKeys } from "./keys.js";
import { Actors } from "./panels/actors.js";
import { AuditDialog } from "./panels/audit.js";
import { Banner, Notice } from "./panels/banner.js";
import { Compare } from "./panels/compare.js";
import { Controls } from "./panels/controls.js";
import { DeadLettersDialog } from "./panels/dead_letters.js";
import { Dock, shape } from "./panels/dock.js";
import { Explorer } from "./panels/explorer.js";
import { Faults, NodeFaults } from "./panels/faults.js";
import { FrameDialog } from "./panels/frame_dialog.js";
import { Frames } from "./panels/frames.js";
import { HalfDialog } from "./panels/half_dialog.js";
import { Choices, Connection, Title } from "./panels/header.js";
import { Invariants } from "./panels/invariants.js";
import { KeyMap } from "./panels/key_map.js";
import { Life } from "./panels/life.js";
import { Log } from "./panels/log.js";
import { Backlog } from "./panels/backlog.js";
import { Money } from "./panels/money.js";
import { RecordDialog } from "./panels/record_dialog.js";
import { Sequence } from "./panels/sequence.js";
import { SettingDialog, Settings } from "./panels/settings.js";
import { SourceView } from "./panels/source_view.js";
import { Stage } from "./panels/stage.js";
import { Timers } from "./panels/timers.js";
import { TwoPhaseCommit } from "./panels/xa.js";
import { keepAddressInStep, requestOfAddress } from "./permalink.js";
import { useSource } from "./session.js";
import { openRecording } from "./source_recording.js";
import { openSocket } from "./source_socket.js";
import { loaded, view } from "./view.js";

const PANELS = {
  source: SourceView,
  invariants: Invariants,
  timers: Timers,
  actors: Actors,
  faults: Faults,
  settings: Settings,
  sequence: Sequence,
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
    () => view.subscribe(({ playing }) => (document.documentElement.dataset.playing = playing ? "yes" : "no")),
    [],
  );
  return html`
    <div class="lab" data-shape=${shape.value}>
      <${Controls} /><${Banner} />
      ${loaded.value ? html`<${Stage} />` : html`<p class="loading">${t("live.waiting")}</p>`}
      <${Dock} place="bottom" panels=${PANELS} />
      ${shape.value !== "narrow" && html`<${Dock} place="side" panels=${PANELS} />`}
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

if (labData.recording) useSource(openRecording(labData.recording));
else {
  useSource(openSocket(requestOfAddress));
  keepAddressInStep();
}
render(html`<${Title} />`, document.getElementById("title-place"));
render(html`<${Connection} />`, document.getElementById("connection-place"));
render(html`<${Choices} />`, document.getElementById("controls-place"));
const page = document.getElementById("page-place");
page.replaceChildren();
render(html`<${Page} />`, page);
listenToKeys();
