// @ts-check
// The consume queues of a broker: what applications sent in large cells, with each group's flag before the first entry
// that it has not committed; topics of the broker's own as a line, unless the scenario is about them.

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { t } from "../../common/i18n.js";
import { CellLane } from "../lane/cell_lane.js";
import { Lane } from "../lane/lane.js";
import { TopicMark } from "../lane/marks.js";
import { groupOf, queueIds, stored } from "../../common/topics.js";
import { memo } from "../../common/memo.js";
import { entriesShown } from "../controls/dock.js";
import { DeadLettersButton } from "../messages/dead_letters.js";
import { density, isFocus } from "../stage/folding.js";
import { PartName } from "./part.js";
import { compare } from "../../common/world/view.js";
import { worldLanes } from "./world_source.js";

const KIND_ORDER = ["normal", "retry", "dlq", "system"];
/** The part of the stage that a topic belongs to; what applications send is always drawn. For half messages and delays
    there are tables, which say more than the broker's own queues of them. */
const PART_OF_KIND = { retry: "retry", dlq: "retry" };
/** No more cells than can be read, by the density of the stage. */
const CELLS_MOST = [9, 9, 6, 5];

const isPlain = ({ kind }) => kind === "normal";

export const Queues = memo(({ broker, topics }) => {
  const source = useMemo(() => worldLanes(broker), [broker]);
  // Topics of the broker's own only once something is in them.
  const shown = Object.keys(topics)
    .filter((name) => isPlain(topics[name]) || stored(topics[name].queues) > 0)
    .sort((a, b) => KIND_ORDER.indexOf(topics[a].kind) - KIND_ORDER.indexOf(topics[b].kind) || compare(a, b));
  return html`<section class="queues" aria-label=${t("word.topics_and_queues")}>
    ${shown.length === 0 && html`<p class="node-line quiet">${t("lab.none_yet")}</p>`}
    ${shown.map(
      (name) => html`<${Topic} key=${name} broker=${broker} name=${name} topic=${topics[name]} source=${source} />`,
    )}
  </section>`;
});

const Topic = memo(({ broker, name, topic, source }) => {
  const part = isPlain(topic) ? null : (PART_OF_KIND[topic.kind] ?? "own_topics");
  const isOpen = part === null || isFocus(part);
  const title = html`<${TopicMark} topic=${name} /> <span class="ellipsis">${name}</span>`;
  const ids = queueIds(topic.queues).filter((id) => isPlain(topic) || topic.queues[id].max > 0);
  const most = Math.min(entriesShown.value, CELLS_MOST[density.value]);
  return html`<section class=${`topic topic-${topic.kind} ${isOpen ? "" : "is-line"}`} aria-label=${name}>
    <div class="part-head">
      <h3>${part === null ? title : html`<${PartName} part=${part}>${title}</${PartName}>`}</h3>
      ${
        part !== null &&
        isOpen &&
        html`<span class=${`kind kind-${topic.kind}`}>${t(`topic.kind_${topic.kind}`)}</span>`
      }
      ${
        !isOpen &&
        html`<span class="part-summary quiet">${t("lab.queues.messages", { n: stored(topic.queues) })}</span>`
      }
      ${
        topic.kind === "dlq" && ids.length > 0 && html`<${DeadLettersButton} broker=${broker} group=${groupOf(name)} />`
      }
    </div>
    ${
      isOpen &&
      ids.map(
        (id) =>
          html`<${Lane}
            key=${id}
            topic=${name}
            queueId=${id}
            queue=${topic.queues[id]}
            source=${source}
            Look=${CellLane}
            most=${most}
          />`,
      )
    }
  </section>`;
});
