// @ts-check
// Inside the clients: what the members of a group hold of each queue, their locks and trees, next to what the broker
// knows of the group: its locks, half messages, retries, dead letters. In the language of the lab's stage.

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { t } from "../../../common/i18n.js";
import { choice } from "../../../common/viewer/choices.js";
import { loaded, state } from "../../../common/cluster/view.js";
import { Empty, GroupMark } from "../../../parts/lane/marks.js";
import { Panel } from "../../../parts/panel/panel.js";
import { useInternals } from "./asking.js";
import { GroupChoice, shownGroup } from "../group_choice.js";
import { AtBroker } from "./at_broker.js";
import { Member } from "./member.js";
import { Switch } from "../../../parts/controls/choices.js";

const asTrees = choice("internals-trees", "no");
/** Cards of members that are open at first. */
const MOST_OPEN = 6;

export function Internals({ stream }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const group = shownGroup();
  const told = useInternals(group, place, stream.status);
  const head = html`
    ${
      group !== undefined &&
      html`
        <${GroupChoice} group=${group} mark=${html`<${GroupMark} group=${group} size=${1.6} />`} />
        <${Switch}
          text=${t("live.internals.trees")}
          isOn=${asTrees.value === "yes"}
          set=${(isOn) => (asTrees.value = isOn ? "yes" : "no")}
        />
      `
    }
    <span class="quiet">${t("live.internals.hint")}</span>
  `;
  return html`<${Panel} id="internals" kind="internals" box=${place} title=${t("live.internals.title")} head=${head}>
    ${loaded.value && group === undefined && html`<${Empty} title=${t("live.consumers.none")} />`}
    ${
      group !== undefined &&
      html`<div class="internals-body">
        <${AtBroker} key=${group} group=${group} told=${told} />
        <${Members} key=${group} group=${group} told=${told} />
      </div>`
    }
  </${Panel}>`;
}

function Members({ group, told }) {
  if (told === null) return html`<p class="quiet internals-none">${t("live.internals.asking")}</p>`;
  if (told.members.length === 0) return html`<p class="quiet internals-none">${t("live.groups.offline")}</p>`;
  const isShared = state.value.groups[group]?.message_model !== "BROADCASTING";
  const holders = isShared ? holdersOf(told.members) : new Map();
  return html`<div class="internals-members">
    ${told.members.map(
      (member, index) =>
        html`<${Member}
          key=${`${member.client_id} ${member.address}`}
          group=${group}
          member=${member}
          nowUs=${told.now_us}
          holders=${holders}
          isOpen=${index < MOST_OPEN}
          isTrees=${asTrees.value === "yes"}
        />`,
    )}
    ${
      told.omitted_members > 0 &&
      html`<p class="quiet">${t("live.internals.more_members", { n: told.omitted_members })}</p>`
    }
  </div>`;
}

/** "topic@broker@queue id" -> client ids of those that hold the queue: one, unless something is the matter. */
function holdersOf(members) {
  const holders = new Map();
  for (const { client_id: id, queues } of members)
    for (const queue of queues)
      if (!queue.dropped) holders.set(placeOf(queue), [...(holders.get(placeOf(queue)) ?? []), id]);
  return holders;
}

export const placeOf = ({ topic, broker, queue_id: queueId }) => `${topic}@${broker}@${queueId}`;
