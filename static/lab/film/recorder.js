// @ts-check
// Makes a film of screenshots, in the page that they are taken of: for the command that films a run.

import { GifWriter } from "./gif.js";

const RATE = 4_000_000;

/**
 * What makes the film: call `add` with each picture, then `finish`.
 *
 * @param {"gif" | "webm"} kind
 * @param {number} width
 * @param {number} height
 */
export function openRecorder(kind, width, height) {
  return kind === "gif" ? new GifRecorder(width, height) : new WebmRecorder(width, height);
}

/** @param {string} base64 */
const bitmapOf = async (base64) =>
  createImageBitmap(new Blob([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))]));

/** @param {Blob} blob */
async function asBase64(blob) {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

/**
 * What pictures are drawn on, in two dimensions: every browser that films has it.
 *
 * @template Kind
 * @param {Kind | null} context
 */
function drawable(context) {
  if (!context) throw new TypeError("the browser has no canvas to draw on");
  return context;
}

class GifRecorder {
  /** @param {number} width @param {number} height */
  constructor(width, height) {
    this.writer = new GifWriter(width, height);
    this.context = drawable(new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true }));
  }

  /** @param {string} base64 @param {number} ms */
  async add(base64, ms) {
    const { width, height } = this.writer;
    this.context.drawImage(await bitmapOf(base64), 0, 0, width, height);
    this.writer.add(this.context.getImageData(0, 0, width, height).data, ms);
  }

  finish() {
    return asBase64(this.writer.bytes());
  }
}

/** The browser's own recorder knows real time only: the pictures are kept, and shown to it at the end. */
class WebmRecorder {
  /** @param {number} width @param {number} height */
  constructor(width, height) {
    /** @type {[base64: string, ms: number][]} */
    this.pictures = [];
    this.canvas = Object.assign(document.createElement("canvas"), { width, height });
  }

  /** @param {string} base64 @param {number} ms */
  async add(base64, ms) {
    this.pictures.push([base64, ms]);
  }

  async finish() {
    const context = drawable(this.canvas.getContext("2d"));
    const stream = this.canvas.captureStream(0);
    const recorder = new MediaRecorder(stream, { mimeType: "video/webm", videoBitsPerSecond: RATE });
    /** @type {Blob[]} */
    const parts = [];
    recorder.ondataavailable = ({ data }) => parts.push(data);
    const over = new Promise((resolve) => (recorder.onstop = resolve));
    recorder.start();
    for (const [base64, ms] of this.pictures) {
      context.drawImage(await bitmapOf(base64), 0, 0, this.canvas.width, this.canvas.height);
      /** @type {CanvasCaptureMediaStreamTrack} */ (stream.getVideoTracks()[0]).requestFrame();
      await new Promise((resolve) => setTimeout(resolve, ms));
    }
    recorder.stop();
    await over;
    return asBase64(new Blob(parts));
  }
}
