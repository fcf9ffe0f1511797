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
   * Takes the first place that is free and returns its box, or undefined.
   *
   * @template Place
   * @template {Box} Taken
   * @param {Place[]} places
   * @param {(place: Place, index: number) => Taken} boxOf made only as long as none is free
   */
  place(places, boxOf) {
    for (const [index, place] of places.entries()) {
      const box = boxOf(place, index);
      if (!this.#isInside(box) || this.taken.some((other) => overlap(box, other))) continue;
      this.taken.push(box);
      return box;
    }
    return undefined;
  }

  /** @param {Box} box */
  #isInside({ left, top, right, bottom }) {
    const bounds = this.bounds;
    return !bounds || (left >= bounds.left && top >= bounds.top && right <= bounds.right && bottom <= bounds.bottom);
  }
}
