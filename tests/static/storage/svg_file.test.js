import assert from "node:assert/strict";
import test from "node:test";
import { scaleOf, svgFile } from "../../../static/storage/svg_file.js";
import { forRandom } from "../support/random_values.js";

const isInside = (pixel) => pixel >= 60 - 1e-6 && pixel <= 500 + 1e-6;

for (const isLog of [false, true])
  test(`values and marks of ${isLog ? "a logarithmic" : "a linear"} axis are inside, larger ones farther on`, () => {
    forRandom(500, (random) => {
      const values = [
        random.magnitude(),
        ...random.list(8, () => random.pick([0, random.magnitude(), random.share()])),
      ];
      const [pixelOf, marks] = scaleOf(values, isLog, 60, 500);
      const pixels = values.toSorted((a, b) => a - b).map(pixelOf);
      assert.ok(pixels.every(isInside), `${pixels} for ${values}`);
      assert.ok(pixels.every((pixel, index) => index === 0 || pixel >= pixels[index - 1]));
      assert.ok(marks.length >= 1 && marks.length <= 20 && marks.every((mark) => isInside(pixelOf(mark))));
    });
  });

test("an axis of nothing but zeros has its beginning", () => {
  const [pixelOf, marks] = scaleOf([0, 0], false, 60, 500);
  assert.deepEqual([pixelOf(0), marks], [60, [0]]);
});

test("an axis from the bottom up goes that way", () => {
  const [pixelOf] = scaleOf([0, 10], false, 250, 10);
  assert.deepEqual([0, 5, 10].map(pixelOf), [250, 130, 10]);
});

test("a saved chart has all points of each series, gaps left out, and its words escaped", () => {
  globalThis.document = {};
  globalThis.getComputedStyle = () => ({
    getPropertyValue: (name) => (name.includes("size") ? "" : "#123456"),
    fontFamily: '"A Font", serif',
  });
  const look = { colour: "--plot-in", dash: [7, 4], shape: "M0 0h1" };
  const chart = {
    name: "reads",
    x: { places: [1, 10, 100], kind: "number", isLog: true, title: "topics" },
    y: { print: String, floor: 1 },
    series: [
      { name: "R & D", look, values: [1, undefined, 300] },
      { name: "dots", look, values: [4, 5, 6], kind: "dots" },
    ],
  };
  const text = svgFile(chart, "<Reads>");
  assert.equal(text.match(/M0 0h1/g).length, 2 + 1 + 3);
  assert.match(text, /^<svg [^<]*style="font: 12px &quot;A Font&quot;, serif">/);
  assert.match(text, />&lt;Reads&gt;</);
  assert.match(text, />R &amp; D</);
  assert.doesNotMatch(text, /NaN|undefined/);
});
