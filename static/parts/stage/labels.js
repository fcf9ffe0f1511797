// @ts-check
// Where labels go: each to the first of its places at which it covers nothing.

/** @typedef {{left: number, top: number, right: number, bottom: number}} Box */

/** @param {Box} a @param {Box} b */
export const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

export class LabelRoom {
  /**
   * @param {Iterable<Box>} taken what no label may cover
   * @param {Box | null} bounds what no label may leave
   */
  constructor(taken, bounds = null) {
    this.taken = [...taken];
    this.bounds = bounds;
  }

  /**
   * Takes the first place that is free and returns its index; -1 where none is.
   *
   * @param {Box[]} places
   */
  place(places) {
    const index = places.findIndex((box) => this.#isInside(box) && !this.taken.some((other) => overlap(box, other)));
    if (index >= 0) this.taken.push(places[index]);
    return index;
  }

  /** @param {Box} box */
  #isInside({ left, top, right, bottom }) {
    const bounds = this.bounds;
    return !bounds || (left >= bounds.left && top >= bounds.top && right <= bounds.right && bottom <= bounds.bottom);
  }
}
