// @ts-check
// The lag of each group: its backlog over virtual time, queue by queue, what comes in and what is done per
// second, and how many members there are to do it.

import { html } from "htm/preact";
import { signal } from "@preact/signals";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { GroupMark, TopicMark } from "../lane/marks.js";
import { span } from "../../common/world/format.js";
import { calmView, compare } from "../../common/world/view.js";
import { BacklogPlot, rateAt } from "./backlog_plot.js";
import { Button } from "../controls/button.js";

/** Name of the group that was chosen, or null: the one with the greatest peak. */
const chosen = signal(/** @type {string | null} */ (null));

export function Backlog() {
  const { backlog, time_us: now } = calmView.value;
  if (!backlog) return html`<p class="panel-empty quiet">${t("lab.backlog.none")}</p>`;
  const names = Object.keys(backlog.groups);
  const greatest = names.reduce((best, one) => (backlog.groups[one].peak > backlog.groups[best].peak ? one : best));
  const name = names.find((one) => one === chosen.value) ?? greatest;
  const group = backlog.groups[name];
  return html`<div class="money backlog">
    <${Groups} groups=${backlog.groups} names=${names} chosen=${name} />
    <${Figures} group=${group} now=${now} />
    <div class="backlog-parts">
      <${BacklogPlot} key=${name} name=${name} group=${group} now=${now} /><${Queues} group=${group} />
    </div>
  </div>`;
}

/** One button per group, with its backlog; nothing to choose where there is one. */
function Groups({ groups, names, chosen: current }) {
  if (names.length < 2) return null;
  return html`<div class="backlog-groups" role="group" aria-label=${t("lab.backlog.groups")}>
    ${names.map((name) => {
      const [, stored, done] = groups[name].series.at(-1);
      return html`<${Button}
        key=${name} class="button backlog-group" aria-pressed=${name === current}
        onClick=${() => (chosen.value = name)}
      >
        <${GroupMark} group=${name} size=${1.15} />
        <span class="ellipsis">${name}</span> <strong class="number">${count(stored - done)}</strong>
      </${Button}>`;
    })}
  </div>`;
}

function Figures({ group, now }) {
  const [, stored, done, , members, owners] = group.series.at(-1);
  const [comes, goes] = [rateAt(group.series, 1, now), rateAt(group.series, 2, now)];
  const lag = stored - done;
  const figure = (name, value) =>
    html`<div class="fact money-figure" title=${t(`lab.backlog.${name}_hint`)}>
      <dt>${t(`lab.backlog.${name}`)}</dt><dd class="number">${value}</dd>
    </div>`;
  const perSecond = (rate) => t("unit.rate", { n: Math.round(rate * 10) / 10 });
  return html`<dl class="money-figures">
    ${figure("lag", count(lag))}
    ${figure(
      "peak",
      group.peak > 0 ? t("lab.backlog.peak_at", { n: count(group.peak), time: span(group.peak_us) }) : count(0),
    )}
    ${figure("in", perSecond(comes))}${figure("out", perSecond(goes))}
    ${figure(
      "members",
      owners === members
        ? count(members)
        : t("lab.backlog.idle_members", { n: count(members), idle: count(members - owners) }),
    )}
    ${lag > 0 && goes > comes && figure("cleared_in", span((lag / (goes - comes)) * 1e6))}
  </dl>`;
}

/** What waits in each queue, as bars: scaling out does not move what waits already. */
function Queues({ group }) {
  const lags = group.series.at(-1)[3];
  const most = Math.max(1, ...lags);
  const brokers = new Set(group.queues.map(([broker]) => broker));
  const rows = group.queues
    .map(([broker, topic, id], index) => ({
      name: `${topic}@${brokers.size > 1 ? `${broker}@` : ""}${id}`,
      topic,
      short: `${brokers.size > 1 ? `${broker} ` : ""}Q${id}`,
      id,
      lag: lags[index] ?? 0,
    }))
    .filter(({ topic, lag }) => lag > 0 || !topic.startsWith("%RETRY%"))
    .sort((a, b) => compare(a.topic, b.topic) || a.id - b.id);
  return html`<section class="money-transfers" aria-label=${t("lab.backlog.queues")}>
    <table class="backlog-queues">
      <caption class="sr-only">${t("lab.backlog.queues")}</caption>
      <thead>
        <tr>
          <th scope="col">${t("field.queue_id")}</th><th scope="col" colspan="2">${t("word.waiting")}</th>
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ({ name, topic, short, lag }) => html`<tr key=${name} data-backlog-queue=${name}>
            <th scope="row" class="ellipsis" title=${name}>
              <${TopicMark} topic=${topic} /> <span class="mono">${short}</span>
            </th>
            <td class="backlog-track"><span style=${{ width: `${(lag / most) * 100}%` }}></span></td>
            <td class="number">${count(lag)}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </section>`;
}
