// @ts-check
// Which node acts now, for pictures in which not every node is in view: the one where the newest frame has arrived, or
// from which it was sent.

import { computed } from "@preact/signals";
import { view } from "../../common/world/view.js";

export const acting = computed(() => {
  const { frames, time_us: now } = view.value;
  let newest = "";
  let last = -1;
  for (const { source, target, sent_us: sent, arrives_us: arrives, dropped } of frames) {
    const [node, time] = !dropped && arrives <= now ? [target, arrives] : [source, sent];
    if (time <= now && time > last) [newest, last] = [node, time];
  }
  return newest || null;
});
