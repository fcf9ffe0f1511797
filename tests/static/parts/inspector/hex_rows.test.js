import assert from "node:assert/strict";
import test from "node:test";
import { bytesOf, fieldOfByte, hexOf, textOf } from "../../../../static/parts/inspector/hex_rows.js";

test("bytes to hexadecimal and back are the same", () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, value) => value);
  assert.deepEqual(bytesOf([...bytes].map(hexOf).join("")), bytes);
  assert.equal(bytesOf("").length, 0);
});

test("every byte has the field that it is in, or none", () => {
  const fields = [
    { start: 0, length: 2 },
    { start: 3, length: 1 },
    { start: 9, length: 5 },
  ];
  assert.deepEqual([...fieldOfByte(fields, 11)], [0, 0, -1, 1, -1, -1, -1, -1, -1, 2, 2]);
});

test("more fields than a small number counts are told apart", () => {
  const fields = Array.from({ length: 40_000 }, (_, start) => ({ start, length: 1 }));
  assert.ok(fieldOfByte(fields, fields.length).every((field, byte) => field === byte));
});

test("only what is printable is a letter", () => {
  assert.deepEqual([0x00, 0x1f, 0x20, 0x41, 0x7e, 0x7f, 0xff].map(textOf), ["·", "·", " ", "A", "~", "·", "·"]);
});
