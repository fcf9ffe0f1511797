// @ts-check
// Plays a film of a lab world: which picture is shown when, and the time of the world then.
//
// A film has chapters; each says from when to when its virtual time goes, how long it takes to watch that, and how long
// its last picture stays. Between two pictures only the time moves on, so that frames fly. Time may go back from one
// chapter to the next: then that one shows another run.

import { signal } from "@preact/signals";
import { applyPatch } from "../common/patch.js";

/** @typedef {[time: number, operations: any[]]} Moment */
/** @typedef {Omit<Picture.DemonstrationChapter, "pictures"> & { pictures: Moment[] }} Chapter */

const TICK_MS = 50;

export class FilmPlayer {
  /** Milliseconds since the beginning, whether it plays, and the number of the chapter, all signals. */
  position = signal(0);
  playing = signal(false);
  chapter = signal(0);

  #show;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #timer;
  #tickedAt = 0;
  /**
   * The pictures of each chapter.
   *
   * @type {{ time: number, tree: any }[][]}
   */
  #pictures = [];
  /**
   * Where each chapter begins.
   *
   * @type {number[]}
   */
  #starts = [];

  /**
   * @param {{ view: any, chapters: Chapter[] }} film
   * @param {(view: any, isFirst: boolean) => void} show Gets every picture.
   */
  constructor(film, show) {
    this.chapters = film.chapters;
    this.#show = show;
    let tree = film.view;
    let length = 0;
    for (const { begin_us: begin, play_ms: play, rest_ms: rest, pictures } of film.chapters) {
      const shown = [{ time: begin, tree }];
      for (const [time, operations] of pictures) {
        tree = applyPatch(tree, operations);
        shown.push({ time, tree });
      }
      this.#pictures.push(shown);
      this.#starts.push(length);
      length += play + rest;
    }
    this.length = length;
    this.#draw(true);
  }

  get isOver() {
    return this.position.value >= this.length;
  }

  play() {
    if (this.#timer) return;
    if (this.isOver) this.#move(0);
    this.#tickedAt = performance.now();
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.playing.value = true;
    this.#draw(false);
  }

  pause() {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.playing.value = false;
    this.#draw(false);
  }

  toggle() {
    if (this.playing.peek()) this.pause();
    else this.play();
  }

  /** Goes to where a chapter begins.
      @param {number} chapter */
  goTo(chapter) {
    this.#move(this.#starts[Math.min(Math.max(chapter, 0), this.chapters.length - 1)]);
  }

  /** Shows the last picture of a chapter: what is left of a film for those who want nothing to move.
      @param {number} chapter */
  showStill(chapter) {
    const number = Math.min(Math.max(chapter, 0), this.chapters.length - 1);
    this.chapter.value = number;
    this.#move(this.#starts[number] + this.chapters[number].play_ms, number);
  }

  #tick() {
    const now = performance.now();
    // A page that was not to be seen has not been watched.
    const passed = document.hidden ? 0 : Math.min(now - this.#tickedAt, 4 * TICK_MS);
    this.#tickedAt = now;
    if (this.position.peek() + passed >= this.length) {
      this.#move(this.length);
      this.pause();
    } else this.#move(this.position.peek() + passed);
  }

  /** @param {number} position */
  #move(position, chapter = this.#chapterAt(position)) {
    this.position.value = position;
    this.chapter.value = chapter;
    this.#draw(false);
  }

  /** @param {number} position */
  #chapterAt(position) {
    const after = this.#starts.findIndex((start) => start > position);
    return (after < 0 ? this.chapters.length : after) - 1;
  }

  /** @param {boolean} isFirst */
  #draw(isFirst) {
    const number = this.chapter.peek();
    const { begin_us: begin, end_us: end, play_ms: play } = this.chapters[number];
    const share = Math.min(1, (this.position.peek() - this.#starts[number]) / play);
    const time = Math.round(begin + (end - begin) * share);
    // The last of the pictures that have been taken by then; several may have the same time.
    const pictures = this.#pictures[number];
    const { tree } = pictures.findLast((picture) => picture.time <= time) ?? pictures[0];
    this.#show({ ...tree, time_us: time, playing: this.playing.peek() }, isFirst);
  }
}
