// @ts-check
// Which lost frames are shown, and for how long.

/** How long a lost frame stays visible in virtual time. */
const LOST_US = 30_000;
/** How long it stays on the watcher's clock, as a playing world is past that in an instant. */
export const LOST_MS = 1_500;
const MOST_LOST = 6;

export class LostFrames {
  /** @type {Map<number, number>} A frame's id -> until when it is shown, on the watcher's clock. */
  #until = new Map();
  /** @type {Set<number>} What was not lost in the last picture: a frame may be lost long after it was sent. */
  #sound = new Set();
  #beforeUs;

  /** @param {number} nowUs the virtual time from which on losses are news */
  constructor(nowUs) {
    this.#beforeUs = nowUs;
  }

  /** Whether a picture later on the watcher's clock shows fewer. */
  get isTimed() {
    return this.#until.size > 0;
  }

  /**
   * Take a picture of the world at `clockMs` of the watcher's clock, and return the frames that were lost just now, the
   * last of them last.
   *
   * @param {{ frames: Picture.Frame[], playing: boolean, time_us: number }} view
   * @param {number} clockMs
   */
  look({ frames, playing, time_us: nowUs }, clockMs) {
    const lost = frames.filter(
      ({ dropped, source, target, sent_us: sent }) => dropped && source !== target && sent <= nowUs,
    );
    if (nowUs < this.#beforeUs) this.#until.clear();
    for (const { id, sent_us: sent } of lost)
      if (this.#sound.has(id) || (playing && sent > this.#beforeUs && !this.#until.has(id)))
        this.#until.set(id, clockMs + LOST_MS);
    this.#beforeUs = nowUs;
    this.#sound = new Set(frames.filter(({ dropped }) => !dropped).map(({ id }) => id));
    for (const [id, end] of this.#until) if (end <= clockMs) this.#until.delete(id);
    return lost.filter(({ id, sent_us: sent }) => nowUs - sent < LOST_US || this.#until.has(id)).slice(-MOST_LOST);
  }
}
