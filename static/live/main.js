// @ts-check
// Puts the live page together: each panel into its place in the template, and the stream behind them.

import { html, render } from "htm/preact";
import { effect } from "@preact/signals";
import { t } from "../common/i18n.js";
import "../common/chrome.js";
import { elementOf } from "../common/elements.js";
import { BoltPopover } from "./faults/bolt.js";
import { FaultPanel, Refusal } from "./faults/panel.js";
import { isAllowed } from "./faults/table.js";
import { Inspector } from "./inspector/inspector.js";
import { QueueEntries } from "./inspector/queue_entries.js";
import { keyRows, listenToKeys } from "./keys.js";
import { Brokers } from "./panels/brokers/brokers.js";
import { BrokerGroups, BrokerTopics } from "./panels/brokers/matrix.js";
import { BrokerRates } from "./panels/brokers/rates.js";
import { ConnectionState, Controls } from "./panels/overview/header.js";
import { DeadLetters } from "./panels/messages/dead_letters.js";
import { DelayLevelsPanel } from "./panels/messages/delay_levels.js";
import { Numbers } from "./panels/messages/numbers.js";
import { Groups } from "./panels/overview/groups.js";
import { Internals } from "./panels/internals/internals.js";
import { KeyMap } from "../parts/controls/key_map.js";
import { Log } from "./panels/overview/log.js";
import { Operator } from "./panels/operator/operator.js";
import { Overview } from "./panels/overview/overview.js";
import { Plots } from "./panels/overview/plots.js";
import { Replication } from "./panels/overview/replication.js";
import { Records } from "./panels/messages/records.js";
import { Search } from "./panels/messages/search.js";
import { Stage } from "./panels/stage/stage.js";
import { Transactions } from "./panels/messages/transactions.js";
import { Empty } from "../parts/lane/marks.js";
import { revealAddressed, tab, Tabs } from "./tabs.js";
import { openStream } from "../common/cluster/stream.js";
import { beAbsent, loaded, receive } from "../common/cluster/view.js";

const stream = openStream(receive, undefined, beAbsent);

/** Tab -> its panels (tabs.js); some are there only once a broker has something to show in them. */
const PANELS = {
  topics: () => html`<${Stage} />`,
  consumers: () => html`<${Groups} /><${Internals} stream=${stream} />`,
  messages: () => html`<${Search} /><${Records} /><${Numbers} />`,
  "dead-letters": () => html`
    <${DeadLetters} /><${Transactions} /><${DelayLevelsPanel} />
    <${Empty} title=${t("live.tab.dead_letters_none")} />
  `,
  metrics: () => html`<${Plots} /><${Replication} /><${Log} />`,
  brokers: () => html`<${Brokers} /><${BrokerRates} /><${BrokerTopics} /><${BrokerGroups} />`,
  faults: () => html`<${FaultPanel} />`,
};

function Page() {
  return html`
    <${Overview} stream=${stream} />
    <${Tabs} />
    <div class="live-tab" id="tab-panel" key=${tab.value} role="tabpanel" aria-labelledby=${`tab-${tab.value}`}>
      ${PANELS[tab.value]()}
    </div>
    ${isAllowed && html`<${Refusal} /><${BoltPopover} />`}
    <${QueueEntries} /><${Inspector} /><${KeyMap} rows=${keyRows()} /><${Operator} />
  `;
}

render(html`<${ConnectionState} stream=${stream} />`, elementOf("connection-place"));
render(html`<${Controls} />`, elementOf("controls-place"));
const page = elementOf("page-place");
page.replaceChildren();
render(html`<${Page} />`, page);
listenToKeys();
// Again when the first state has made the panels as long as they are.
effect(() => (void loaded.value, revealAddressed()));
