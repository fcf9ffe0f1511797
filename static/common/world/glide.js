// @ts-check
// A time that moves evenly from one moment of a world to another while the clock of the page goes on.

export class Glide {
  /** The time at which it ends. */
  target = 0;

  #from = 0;
  #startedAt = 0;
  #lengthMs = 0;

  /**
   * Moves from the time shown at `now` to `target` within `lengthMs`.
   *
   * @param {number} now
   * @param {number} target
   * @param {number} lengthMs
   */
  start(now, target, lengthMs) {
    this.#from = this.timeAt(now);
    [this.target, this.#startedAt, this.#lengthMs] = [target, now, lengthMs];
  }

  /**
   * Is at `target` immediately.
   *
   * @param {number} now
   * @param {number} target
   */
  jump(now, target) {
    this.start(now, target, 0);
  }

  /** @param {number} now */
  isMoving(now) {
    return now - this.#startedAt < this.#lengthMs;
  }

  /**
   * The time at a moment of the page's clock.
   *
   * @param {number} now
   */
  timeAt(now) {
    if (!this.isMoving(now)) return this.target;
    const share = Math.max(0, (now - this.#startedAt) / this.#lengthMs);
    return this.#from + (this.target - this.#from) * share;
  }
}
