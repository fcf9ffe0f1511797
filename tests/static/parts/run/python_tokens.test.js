import assert from "node:assert/strict";
import test from "node:test";
import { colourLine } from "../../../../static/parts/run/python_tokens.js";
import { forRandom } from "../../support/random_values.js";

const textOf = (part) => (typeof part === "string" ? part : part.props.children);
const kindsOf = (line) =>
  colourLine(line)
    .filter((part) => typeof part !== "string")
    .map((part) => [part.props.class.replace("py-", ""), textOf(part)]);

test("comments, strings, keywords and decorators are set apart", () => {
  assert.deepEqual(kindsOf("@dataclass(frozen=True)  # a value"), [
    ["decorator", "@dataclass"],
    ["keyword", "True"],
    ["comment", "# a value"],
  ]);
  assert.deepEqual(kindsOf('    return await f"{topic}@{queue}", notify'), [
    ["keyword", "return"],
    ["await", "await"],
    ["string", 'f"{topic}@{queue}"'],
  ]);
});

test("a word in a string or a comment is no keyword, and a quote in a comment begins no string", () => {
  assert.deepEqual(kindsOf("x = 'for \\' if'"), [["string", "'for \\' if'"]]);
  assert.deepEqual(kindsOf("x  # don't return"), [["comment", "# don't return"]]);
});

test("no letter of a line is lost", () => {
  const pieces = ["'", '"', '"""', "#", "\\", "return ", "@a.b", "锁", " ", "f'", "import", "(", "0", "😀"];
  forRandom(1000, (random) => {
    const line = random.list(12, () => random.pick(pieces)).join("");
    assert.equal(colourLine(line).map(textOf).join(""), line);
  });
});
