// Random values for laws: the same ones in every run, so that a failure comes again.

/** Calls `check(random, number)` with `count` sources of random values; a failure names the one that it came with. */
export function forRandom(count, check) {
  for (let number = 1; number <= count; number += 1) {
    try {
      check(new Random(number), number);
    } catch (error) {
      error.message = `with random source ${number}: ${error.message}`;
      throw error;
    }
  }
}

/** A small generator (mulberry32) and what laws ask of it. */
export class Random {
  #state;

  constructor(seed) {
    this.#state = seed * 0x9e3779b1;
  }

  /** A number from 0 to below 1. */
  share() {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer from `low` to `high`. */
  integer(low, high) {
    return low + Math.floor(this.share() * (high - low + 1));
  }

  pick(choices) {
    return choices[this.integer(0, choices.length - 1)];
  }

  /** Up to `most` values of `make`. */
  list(most, make) {
    return Array.from({ length: this.integer(0, most) }, () => make());
  }

  /** A number of any size, small and large ones alike often. */
  magnitude(most = 15) {
    return Math.round(10 ** (this.share() * most));
  }
}
