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
    const isThere = !dropped && arrives <= now;
    const time = isThere ? arrives : sent;
    if (time > now || time <= last) continue;
    newest = isThere ? target : source;
    last = time;
  }
  return newest || null;
});
