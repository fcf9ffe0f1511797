// @ts-check
// The arithmetic of topics: what their queues store, who has read them, how far readers lag.

/** @typedef {Record<string, Picture.Queue>} Queues By id. */
/** @typedef {Pick<Picture.Queue, "min" | "max" | "committed">} SummedQueue All queues of a topic as one. */
/** @typedef {Record<string, number>} Offsets Next offset of each consumer group, or of each run of a job on Spark. */

/** "%RETRY%billing" -> "billing" @param {string} topic */
export const groupOf = (topic) => topic.replace(/^%(RETRY|DLQ)%/, "");

/** A group that keeps up lags by a few messages too, because it commits with its next pull: no need for alarm. */
const USUAL_LAG = 10;
/** @param {number | null} lag null: unknown. */
export const isLagging = (lag) => lag !== null && lag > USUAL_LAG;

/** @param {number} offset The next one that somebody reads. @param {number} max The end of the queue. */
export const lagAt = (offset, max) => Math.max(0, max - offset);

/** @param {Pick<Picture.Queue, "min" | "max">} queue */
export const storedIn = ({ min, max }) => Math.max(0, max - min);

/** @param {Queues} queues */
export const stored = (queues) => Object.values(queues).reduce((sum, queue) => sum + storedIn(queue), 0);

/** @param {Queues} queues */
export const queueIds = (queues) => Object.keys(queues).sort((one, other) => Number(one) - Number(other));

/** Whether a group has committed something there: only then it can be reset.
    @param {{ queues: Queues }} topic @param {string} group */
export const isReadBy = ({ queues }, group) => Object.values(queues).some(({ committed }) => group in committed);

/** Offsets in all queues as one, which begins at 0.
    @param {Queues} queues @param {(id: string) => Offsets | undefined} offsetsOf @returns {Offsets} */
export function summedOffsets(queues, offsetsOf) {
  /** @type {Offsets} */
  const lags = {};
  for (const [id, { max }] of Object.entries(queues))
    for (const [reader, offset] of Object.entries(offsetsOf(id) ?? {}))
      lags[reader] = (lags[reader] ?? 0) + lagAt(offset, max);
  const end = stored(queues);
  return Object.fromEntries(Object.entries(lags).map(([reader, lag]) => [reader, end - lag]));
}

/** @type {WeakMap<Queues, SummedQueue>} */
const sums = new WeakMap();

/** All queues of a topic as one; the same object for the same queues. @param {Queues} queues */
export function summedQueue(queues) {
  const sum = sums.get(queues) ?? {
    min: 0,
    max: stored(queues),
    committed: summedOffsets(queues, (id) => queues[id].committed),
  };
  sums.set(queues, sum);
  return sum;
}
