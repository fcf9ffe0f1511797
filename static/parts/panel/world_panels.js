// @ts-check
// The panels and the dialogs of a page that shows a world: the lab and the lessons.

import { html } from "htm/preact";
import { Popover } from "../actions/popover.js";
import { AuditDialog } from "../analysis/audit.js";
import { Backlog } from "../analysis/backlog.js";
import { Explorer } from "../analysis/explorer.js";
import { Money } from "../analysis/money.js";
import { TwoPhaseCommit } from "../analysis/xa.js";
import { Notice } from "../controls/banner.js";
import { Faults } from "../controls/faults.js";
import { KeyMap } from "../controls/key_map.js";
import { keyRows } from "../controls/keys.js";
import { SettingDialog, Settings } from "../controls/settings.js";
import { DeadLettersDialog } from "../messages/dead_letters.js";
import { WorldHalfDialog } from "../messages/half_dialog.js";
import { Life } from "../messages/life.js";
import { RecordDialog } from "../messages/record_dialog.js";
import { Actors } from "../run/actors.js";
import { Invariants } from "../run/invariants.js";
import { Log } from "../run/log.js";
import { SourceView } from "../run/source_view.js";
import { Timers } from "../run/timers.js";
import { FrameDialog } from "../stage/frame_dialog.js";
import { Frames } from "../stage/frames.js";

export const WORLD_PANELS = {
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

export const WorldDialogs = () => html`
  <${Popover} /><${WorldHalfDialog} /><${DeadLettersDialog} /><${FrameDialog} /><${RecordDialog} /><${AuditDialog} />
  <${SettingDialog} /><${KeyMap} rows=${keyRows()} /><${Notice} />
`;
