// @ts-check
// What a partition is called in a row of a card: the topic's mark and the number.

import { html } from "htm/preact";
import { TopicMark } from "../../lane/marks.js";

export const PartitionName = ({
  topic,
  partition,
}) => html`<span class="kafka-partition" title=${`${topic}-${partition}`}>
  <${TopicMark} topic=${topic} /> <span class="mono">P${partition}</span>
</span>`;
