import assert from "node:assert/strict";
import test from "node:test";
import { Prose } from "../../../static/lessons/prose.js";

const shown = (en) => Prose({ text: { en } }).props.dangerouslySetInnerHTML.__html;

test("short names stay in one line, long ones break between their words", () => {
  assert.equal(shown("<p><code>B1</code></p>"), '<p><code class="is-short">B1</code></p>');
  assert.equal(
    shown("<code>suspendCurrentQueue</code> <code>commit_log.max_offset</code>"),
    "<code>suspend<wbr>Current<wbr>Queue</code> <code>commit_<wbr>log.<wbr>max_<wbr>offset</code>",
  );
});

test("nothing else of the text changes: neither escaped signs nor blocks of code nor figures", () => {
  const html =
    '<pre><code class="language-text">a_b_c_d_e_f_g_h_i\n</code></pre><span class="lesson-figure">&lt;b&gt;</span>';
  assert.equal(shown(html), html);
  assert.equal(shown("<code>a&lt;Bcdefghijklmnop&amp;Q</code>"), "<code>a&lt;Bcdefghijklmnop&amp;Q</code>");
});
