// @ts-check
// Asks the server how the members of a group are, every two seconds and only while the panel is on the screen: the
// server asks the clients because of it. Also: a message by its queue offset, as clients name it.

import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { get } from "../../../common/request.js";
import { inspectedOffset, inspectedQueue } from "../../../common/cluster/selection.js";
import { paused } from "../../../common/viewer/paused.js";

const AGAIN_MS = 2000;
const LIVE = ["live", "resynced"];

/**
 * The last answer about a group, null before the first.
 *
 * @param {string | undefined} group
 * @param {{ current: Element | null }} place Nothing is asked while it is not on the screen.
 * @param {import("@preact/signals").Signal<string>} status That of the stream.
 */
export function useInternals(group, place, status) {
  const told = useSignal(/** @type {Picture.GroupReport | null} */ (null));
  useEffect(() => {
    told.value = null;
    if (group === undefined) return undefined;
    let [isSeen, isAsking, isWanted] = [false, false, true];
    const ask = async () => {
      if (!isSeen || isAsking || document.hidden || paused.peek() || !LIVE.includes(status.peek())) return;
      isAsking = true;
      const { answer } = await get(`/api/live/clients?group=${encodeURIComponent(group)}`);
      if (answer && isWanted) told.value = answer;
      isAsking = false;
    };
    // Its upper edge at the bottom of the window is nothing that somebody looks at.
    const eye = new IntersectionObserver(
      ([{ isIntersecting }]) => {
        isSeen = isIntersecting;
        ask();
      },
      { rootMargin: "0px 0px -15% 0px" },
    );
    if (place.current) eye.observe(place.current);
    const timer = setInterval(ask, AGAIN_MS);
    return () => {
      isWanted = false;
      eye.disconnect();
      clearInterval(timer);
    };
  }, [group]);
  return told.value?.group === group ? told.value : null;
}

/** Opens the record at a queue's offset; the queue itself where the broker does not have the message any more. */
export async function openMessage(topic, queueId, offset) {
  const queue = `/api/topics/${encodeURIComponent(topic)}/queues/${queueId}`;
  const { answer } = await get(`${queue}/entries?start=${offset}&count=1`);
  const [entry] = answer?.entries ?? [];
  if (entry) inspectedOffset.value = entry.offset;
  else inspectedQueue.value = { topic, queueId };
}
