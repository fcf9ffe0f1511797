// @ts-check
// Pure helpers of the inspector: which field holds a byte, and what a byte looks like as text.

export const ROW_BYTES = 16;

/** "0a1f" -> Uint8Array [10, 31]
    @param {string} hex */
export function bytesOf(hex) {
  const bytes = new Uint8Array(hex.length >> 1);
  for (let index = 0; index < bytes.length; index += 1)
    bytes[index] = parseInt(hex.slice(2 * index, 2 * index + 2), 16);
  return bytes;
}

/** For every byte the index of its field, -1 where there is none.
    @param {Picture.FieldBytes[]} fields @param {number} length */
export function fieldOfByte(fields, length) {
  const owners = new Int32Array(length).fill(-1);
  fields.forEach((field, index) => owners.fill(index, field.start, field.start + field.length));
  return owners;
}

/** @param {number} byte */
export const hexOf = (byte) => byte.toString(16).padStart(2, "0");

/** Printable ASCII as itself, everything else as a dot, as hex dumps do.
    @param {number} byte */
export const textOf = (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·");
