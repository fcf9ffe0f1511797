// @ts-check
// Writes an animated GIF, picture by picture. Each picture has 255 colours of its own and holds only what differs
// from the picture before: everything else is transparent, so still parts do not flicker.

const TRANSPARENT = 255;
const COLOURS = 255;

export class GifWriter {
  /** @type {ArrayLike<number>[]} */
  #parts = [];
  /** @type {Uint32Array | null} */
  #before = null;

  /** @param {number} width @param {number} height */
  constructor(width, height) {
    this.width = width;
    this.height = height;
    const loopForEver = [0x21, 0xff, 11, ...ascii("NETSCAPE2.0"), 3, 1, 0, 0, 0];
    this.#parts.push([...ascii("GIF89a"), ...word(width), ...word(height), 0x70, 0, 0, ...loopForEver]);
  }

  /**
   * @param {Uint8ClampedArray} pixels Red, green, blue and alpha of each.
   * @param {number} ms How long the picture is shown.
   */
  add(pixels, ms) {
    const now = new Uint32Array(pixels.buffer.slice(0));
    const box = this.#changed(now);
    const colours = new Map();
    const { left, top, width, height } = box;
    const wanted = new Int32Array(width * height).fill(-1);
    for (let y = 0; y < height; y += 1) {
      for (let x = 0; x < width; x += 1) {
        const at = (top + y) * this.width + left + x;
        if (this.#before && this.#before[at] === now[at]) continue;
        const bin = binOf(now[at]);
        wanted[y * width + x] = bin;
        colours.set(bin, (colours.get(bin) ?? 0) + 1);
      }
    }
    const palette = [...colours.entries()]
      .sort((a, b) => b[1] - a[1])
      .slice(0, COLOURS)
      .map(([bin]) => bin);
    const numbers = nearest(colours, palette);
    const indices = Uint8Array.from(wanted, (bin) => (bin < 0 ? TRANSPARENT : (numbers.get(bin) ?? TRANSPARENT)));
    const table = new Uint8Array(768);
    palette.forEach((bin, index) => table.set(colourOf(bin), 3 * index));
    // Disposal 1: what is drawn stays; colour 255 shows what was there.
    const hundredths = Math.min(0xffff, Math.round(ms / 10));
    this.#parts.push([0x21, 0xf9, 4, 0x05, ...word(hundredths), TRANSPARENT, 0]);
    this.#parts.push([0x2c, ...word(left), ...word(top), ...word(width), ...word(height), 0x87]);
    this.#parts.push(table, compressed(indices));
    this.#before = now;
  }

  bytes() {
    return new Blob([...this.#parts.map((part) => Uint8Array.from(part)), Uint8Array.of(0x3b)]);
  }

  /** The smallest box with all differences; one point when there are none.
      @param {Uint32Array} now */
  #changed(now) {
    const { width, height } = this;
    if (!this.#before) return { left: 0, top: 0, width, height };
    let [left, right, top, bottom] = [width, -1, height, -1];
    for (let at = 0; at < now.length; at += 1) {
      if (now[at] === this.#before[at]) continue;
      const x = at % width;
      const y = (at - x) / width;
      left = Math.min(left, x);
      right = Math.max(right, x);
      top = Math.min(top, y);
      bottom = y;
    }
    if (right < 0) return { left: 0, top: 0, width: 1, height: 1 };
    return { left, top, width: right - left + 1, height: bottom - top + 1 };
  }
}

/** @param {string} text */
const ascii = (text) => [...text].map((letter) => letter.charCodeAt(0));
/** @param {number} number */
const word = (number) => [number & 255, number >> 8];

/** Six bits of each colour: as fine as is visible on a flat page.
    @param {number} pixel */
const binOf = (pixel) => ((pixel & 0xfc) >> 2) | ((pixel & 0xfc00) >> 4) | ((pixel & 0xfc0000) >> 6);
/** @param {number} bin */
const colourOf = (bin) => [bin & 63, (bin >> 6) & 63, bin >> 12].map((part) => (part << 2) | (part >> 4));

/** Bin -> the number of the colour of `palette` that is nearest to it.
    @param {Map<number, number>} bins @param {number[]} palette */
function nearest(bins, palette) {
  const numbers = new Map(palette.map((bin, index) => [bin, index]));
  const known = palette.map(colourOf);
  for (const bin of bins.keys()) {
    if (numbers.has(bin)) continue;
    const [red, green, blue] = colourOf(bin);
    let least = Infinity;
    let best = 0;
    known.forEach((one, index) => {
      const far = (one[0] - red) ** 2 + (one[1] - green) ** 2 + (one[2] - blue) ** 2;
      if (far < least) [least, best] = [far, index];
    });
    numbers.set(bin, best);
  }
  return numbers;
}

/** LZW with codes of up to twelve bits, in blocks of up to 255 bytes.
    @param {Uint8Array} indices */
function compressed(indices) {
  const CLEAR = 256;
  const END = 257;
  const out = [8];
  /** @type {number[]} */
  let block = [];
  let bits = 0;
  let held = 0;
  let size = 9;
  let next = 258;
  let table = new Map();
  const flush = () => {
    if (block.length > 0) out.push(block.length, ...block);
    block = [];
  };
  /** @param {number} code */
  const emit = (code) => {
    held |= code << bits;
    bits += size;
    while (bits >= 8) {
      block.push(held & 255);
      held >>>= 8;
      bits -= 8;
      if (block.length === 255) flush();
    }
  };
  emit(CLEAR);
  let prefix = indices[0];
  for (let at = 1; at < indices.length; at += 1) {
    const key = (prefix << 8) | indices[at];
    const code = table.get(key);
    if (code !== undefined) {
      prefix = code;
      continue;
    }
    emit(prefix);
    prefix = indices[at];
    if (next === 4096) {
      emit(CLEAR);
      table = new Map();
      size = 9;
      next = 258;
      continue;
    }
    if (next === 1 << size) size += 1;
    table.set(key, next);
    next += 1;
  }
  emit(prefix);
  emit(END);
  if (bits > 0) block.push(held & 255);
  flush();
  out.push(0);
  return Uint8Array.from(out);
}
