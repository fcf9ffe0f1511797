// @ts-check
// Frames that the page has seen, by number. The view shows those in flight and the last that arrived; the sequence
// diagram looks further back.

import { firstNot } from "../../common/binary_search.js";

const KEPT = 4000;

/** @typedef {Picture.Frame} FrameSeen */

export class FrameStore {
  /** @type {FrameSeen[]} */
  #frames = [];
  /** @type {Map<number, FrameSeen>} */
  #byId = new Map();

  /** @param {FrameSeen[]} frames */
  add(frames) {
    for (const frame of frames) {
      const known = this.#byId.get(frame.id);
      if (known === frame) continue;
      if (known && known.sent_us !== frame.sent_us) this.#forgetFrom(frame.id); // another branch of the run
      const kept = this.#byId.get(frame.id);
      if (kept) this.#frames[this.#frames.indexOf(kept)] = frame;
      else this.#insert(frame);
      this.#byId.set(frame.id, frame);
    }
    if (this.#frames.length > KEPT) for (const old of this.#frames.splice(0, KEPT / 10)) this.#byId.delete(old.id);
  }

  /** @param {number} id */
  get(id) {
    return this.#byId.get(id) ?? null;
  }

  /** Frames under way at some time between the two. @param {number} leftUs @param {number} rightUs */
  between(leftUs, rightUs) {
    return this.#frames.filter(
      (frame) => frame.sent_us <= rightUs && Math.max(frame.sent_us, frame.arrives_us ?? 0) >= leftUs,
    );
  }

  /**
   * Whether all frames that were sent between the two are here.
   *
   * @param {number} leftUs
   * @param {number} rightUs
   * @param {number} newest The number of the last one that was sent.
   */
  isWhole(leftUs, rightUs, newest) {
    const first = this.#firstSentFrom(leftUs);
    const end = this.#firstSentFrom(rightUs + 1);
    const [before, behind] = [this.#frames[first - 1]?.id ?? 0, this.#frames[end]?.id ?? newest + 1];
    return behind - before - 1 === end - first;
  }

  /** @param {number} timeUs */
  #firstSentFrom(timeUs) {
    return firstNot((frame) => frame.sent_us < timeUs, this.#frames);
  }

  /** @param {FrameSeen} frame */
  #insert(frame) {
    let at = this.#frames.length;
    while (at > 0 && this.#frames[at - 1].id > frame.id) at -= 1;
    this.#frames.splice(at, 0, frame);
  }

  /** @param {number} id */
  #forgetFrom(id) {
    for (const frame of this.#frames.filter((one) => one.id >= id)) this.#byId.delete(frame.id);
    this.#frames = this.#frames.filter((frame) => frame.id < id);
  }
}
