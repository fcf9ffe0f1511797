import assert from "node:assert/strict";
import test from "node:test";
import { GifWriter } from "../../../../static/lab/film/gif.js";
import { Random } from "../../support/random_values.js";

/** The pictures of a film as a viewer shows them: [{ ms, colours }], a colour as 0xRRGGBB for each pixel. */
function read(bytes) {
  assert.equal(String.fromCharCode(...bytes.subarray(0, 6)), "GIF89a");
  let at = 13;
  const take = (count) => bytes.subarray(at, (at += count));
  const word = () => take(2).reduce((low, high) => low | (high << 8));
  const blocks = () => {
    const data = [];
    for (let size = take(1)[0]; size > 0; size = take(1)[0]) data.push(...take(size));
    return data;
  };
  const [width, height] = [bytes[6] | (bytes[7] << 8), bytes[8] | (bytes[9] << 8)];
  const colours = Array(width * height).fill(null);
  const pictures = [];
  let control = { ms: 0, transparent: -1 };
  for (let kind = take(1)[0]; kind !== 0x3b; kind = take(1)[0]) {
    if (kind === 0x21) {
      const [label] = take(1);
      const data = blocks();
      if (label === 0xf9) control = { ms: 10 * (data[1] | (data[2] << 8)), transparent: data[3] };
      continue;
    }
    assert.equal(kind, 0x2c);
    const [left, top, columns, rows] = [word(), word(), word(), word()];
    take(1);
    const table = take(768);
    const least = take(1)[0];
    const indices = unpacked(blocks(), least);
    assert.equal(indices.length, columns * rows);
    indices.forEach((index, pixel) => {
      if (index === control.transparent) return;
      const place = (top + Math.floor(pixel / columns)) * width + left + (pixel % columns);
      colours[place] = (table[3 * index] << 16) | (table[3 * index + 1] << 8) | table[3 * index + 2];
    });
    pictures.push({ ms: control.ms, colours: [...colours] });
  }
  assert.equal(at, bytes.length);
  return pictures;
}

/** LZW as GIF has it. */
function unpacked(bytes, least) {
  const [clear, end] = [1 << least, (1 << least) + 1];
  const out = [];
  let [table, size, held, bits, at, before] = [[], 0, 0, 0, 0, null];
  for (;;) {
    if (before === null) size = least + 1;
    while (bits < size) {
      held |= bytes[at++] << bits;
      bits += 8;
    }
    const code = held & ((1 << size) - 1);
    held >>>= size;
    bits -= size;
    if (code === end) return out;
    if (code === clear) {
      table = Array.from({ length: clear + 2 }, (_, index) => [index]);
      before = null;
      size = least + 1;
      continue;
    }
    const known = code < table.length ? table[code] : [...before, before[0]];
    assert.ok(known !== undefined && code <= table.length);
    out.push(...known);
    if (before !== null && table.length < 4096) table.push([...before, known[0]]);
    if (table.length === 1 << size && size < 12) size += 1;
    before = known;
  }
}

/** Colours as the writer keeps them: six bits of each part. */
const kept = (colour) =>
  [16, 8, 0].reduce((sum, shift) => {
    const part = ((colour >> shift) & 255) >> 2;
    return sum | (((part << 2) | (part >> 4)) << shift);
  }, 0);

const pixelsOf = (colours) => Uint8Array.from(colours.flatMap((one) => [one >> 16, (one >> 8) & 255, one & 255, 255]));

async function filmOf(width, height, pictures) {
  const writer = new GifWriter(width, height);
  for (const { ms, colours } of pictures) writer.add(pixelsOf(colours), ms);
  return read(new Uint8Array(await writer.bytes().arrayBuffer()));
}

test("a viewer sees every picture as it was drawn, however few pixels differ from the one before", async () => {
  const random = new Random(1);
  const [width, height] = [37, 23];
  const palette = Array.from({ length: 200 }, () => random.integer(0, 0xffffff));
  const colours = Array.from({ length: width * height }, () => random.pick(palette));
  const pictures = [];
  for (let number = 0; number < 12; number += 1) {
    pictures.push({ ms: 10 * random.integer(1, 400), colours: [...colours] });
    for (let change = random.pick([0, 1, 5, 300]); change > 0; change -= 1)
      colours[random.integer(0, colours.length - 1)] = random.pick(palette);
  }
  const wanted = pictures.map((picture) => ({ ...picture, colours: picture.colours.map(kept) }));
  assert.deepEqual(await filmOf(width, height, pictures), wanted);
});

test("a large picture fills the table of codes again and again", async () => {
  const random = new Random(2);
  const colours = Array.from({ length: 200 * 150 }, () => 0x040404 * random.integer(0, 50));
  const [{ colours: seen }] = await filmOf(200, 150, [{ ms: 20, colours }]);
  assert.deepEqual(seen, colours.map(kept));
});

test("a picture of one colour, and of one pixel, is whole", async () => {
  assert.deepEqual(
    (await filmOf(64, 64, [{ ms: 30, colours: Array(64 * 64).fill(0xff0000) }]))[0].colours[4095],
    kept(0xff0000),
  );
  assert.deepEqual(await filmOf(1, 1, [{ ms: 30, colours: [0] }]), [{ ms: 30, colours: [0] }]);
});

test("of too many colours the nearest that are left are seen", async () => {
  const colours = Array.from({ length: 1024 }, (_, index) => (index << 12) | 0x80);
  const [{ colours: seen }] = await filmOf(32, 32, [{ ms: 30, colours }]);
  assert.ok(new Set(seen).size <= 255);
  const far = (one, other) =>
    Math.max(...[16, 8, 0].map((shift) => Math.abs(((one >> shift) & 255) - ((other >> shift) & 255))));
  assert.ok(seen.every((colour, index) => far(colour, colours[index]) <= 64));
});

test("a picture that stays longer than the format can say stays as long as it can", async () => {
  const [{ ms }] = await filmOf(1, 1, [{ ms: 10_000_000, colours: [0] }]);
  assert.equal(ms, 655_350);
});
