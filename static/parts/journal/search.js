// @ts-check
// A filter over the whole journal. The server looks through it in pieces: the newest events first, then those
// before them, and meanwhile what has happened since.

import { signal } from "@preact/signals";
import { run } from "../../common/world/session.js";
import { entryOf, journalCut, view } from "../../common/world/view.js";

/** Entries that a search keeps; the newest ones. */
const KEPT = 5000;
/** How often a playing world is polled. */
const AGAIN_MS = 400;

export class JournalSearch {
  /** What was found, oldest first, and the first and last number that was looked at.
      @type {import("../../common/world/view.js").Entry[]} */
  entries = [];
  low = 0;
  high = 0;
  /** @type {string | null} */
  problem = null;
  /** Changes when something was found, or the search went on. */
  version = signal(0);

  #wanted;
  #isBusy = false;
  #isClosed = false;
  /** @type {(() => void)[]} */
  #stops = [];
  #lookedAt = -AGAIN_MS;

  /** @param {Record<string, string>} wanted Text, node, matters. */
  constructor(wanted) {
    this.#wanted = wanted;
    this.low = view.peek().events_total + 1;
    this.high = this.low - 1;
    const known = journalCut.peek();
    this.#stops = [
      journalCut.subscribe((cut) => cut !== known && this.#forget(cut.number)),
      view.subscribe(() => this.#goOn()),
    ];
  }

  /** Whether older events are still to be looked at. */
  get isDone() {
    return this.low <= 1 || this.isFull;
  }

  /** Whether more was found than is kept. */
  get isFull() {
    return this.entries.length >= KEPT;
  }

  close() {
    this.#isClosed = true;
    this.#stops.forEach((stop) => stop());
  }

  /** @param {number} number */
  #forget(number) {
    while ((this.entries.at(-1)?.number ?? number) > number) this.entries.pop();
    this.high = Math.min(this.high, number);
    this.low = Math.min(this.low, number + 1);
    this.version.value += 1;
  }

  async #goOn() {
    if (this.#isBusy || this.#isClosed) return;
    this.#isBusy = true;
    try {
      while (!this.#isClosed && (await this.#lookFurther()));
      this.problem = null;
    } catch (error) {
      this.problem = error.message;
      this.version.value += 1;
    } finally {
      this.#isBusy = false;
    }
  }

  /** One question to the server; false: there is nothing to ask now. */
  async #lookFurther() {
    const hasMore = this.high < view.peek().events_total;
    const rest = this.#lookedAt + AGAIN_MS - performance.now();
    const isNew = hasMore && rest <= 0;
    if (!isNew && this.isDone) {
      if (hasMore) setTimeout(() => this.#goOn(), rest);
      return false;
    }
    const cut = journalCut.peek();
    /** @type {Record<string, number>} */
    const place = isNew ? { above: this.high } : { below: this.low };
    const { entries, low, high } = await run.search({ ...this.#wanted, ...place });
    if (cut !== journalCut.peek()) return true;
    const found = entries.map(entryOf);
    if (isNew) {
      this.#lookedAt = performance.now();
      this.entries.push(...found);
      this.high = Math.max(high, this.high);
    } else {
      this.entries.unshift(...found);
      this.low = Math.min(low, this.low - 1);
    }
    if (this.entries.length > KEPT) this.entries.splice(0, this.entries.length - KEPT);
    this.version.value += 1;
    return true;
  }
}
