"""Markdown of lessons, and the figures in it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.lessons.errors import LessonError
from app.lessons.prose import read_prose


def html(text, view=None, *, inline=False):
    made = read_prose(text, "lesson.en.md", 10, inline=inline).html(view or {})
    return re.sub(r"(?<=>)\n", "", made)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One\nparagraph.\n\nAnother.", "<p>One paragraph.</p><p>Another.</p>"),
        ("**strong** *stressed* `code`", "<p><strong>strong</strong> <em>stressed</em> <code>code</code></p>"),
        ("**strong `code`**", "<p><strong>strong <code>code</code></strong></p>"),
        ("`a < b & **c**`", "<p><code>a &lt; b &amp; **c**</code></p>"),
        ("- a\n- b\n  goes on", "<ul><li>a</li><li>b goes on</li></ul>"),
        ("1. a\n2. b", "<ol><li>a</li><li>b</li></ol>"),
        ("```\n- a <b>\n```", "<pre><code>- a &lt;b&gt;\n</code></pre>"),
        ("~~~text\na\n~~~", '<pre><code class="language-text">a\n</code></pre>'),
        ("1. a\n   - b\n2. c", "<ol><li>a\n<ul><li>b</li></ul></li><li>c</li></ol>"),
        ("a\n> b\n>\n> - c\n\nd", '<p>a</p><aside class="lesson-box"><p>b</p><ul><li>c</li></ul></aside><p>d</p>'),
        ("[here](/lab/hello)", '<p><a href="/lab/hello">here</a></p>'),
        ("[out](https://example.org)", "<p>[out](https://example.org)</p>"),
        ("[out](//example.org)", "<p>[out](//example.org)</p>"),
        ("[out](javascript:x)", "<p>[out](javascript:x)</p>"),
        ('<script>alert("x")</script>', "<p>&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;</p>"),
        ("2 * 3 * 4", "<p>2 * 3 * 4</p>"),
        ("**引擎说：**源码是有的", "<p><strong>引擎说：</strong>源码是有的</p>"),
        ("中文\n换行，\n不加空格 and\n中文", "<p>中文换行，不加空格 and 中文</p>"),
        (
            "| a | b |\n|---|---|\n| 1 | `2` |",
            (
                '<table><thead><tr><th scope="col">a</th><th scope="col">b</th></tr></thead>'
                "<tbody><tr><td>1</td><td><code>2</code></td></tr></tbody></table>"
            ),
        ),
        ("text:\n| a | b |\n|---|---|\n| 1 | |", None),
    ],
)
def test_markdown_becomes_html(text, expected):
    if expected is None:
        assert html(text).startswith("<p>text:</p><table>")
        assert html(text).endswith("<td></td></tr></tbody></table>")
    else:
        assert html(text) == expected


def test_inline_text_has_no_paragraph():
    assert html("a `b`", inline=True) == "a <code>b</code>"


def test_figures_are_filled_in_wherever_they_stand():
    view = {"event": 7, "nodes": {"B1": {"status": "<b>"}}}
    text = "{{ event }} in `{{ nodes.B1.status }}`\n\n- **{{event + 1}}**\n\n{{ nodes.C1\n.status }}"
    assert re.sub(r'<span class="lesson-figure">(.*?)</span>', r"[\1]", html(text, view)) == (
        "<p>[7] in <code>[&lt;b&gt;]</code></p><ul><li><strong>[8]</strong></li></ul><p>[–]</p>"
    )
    assert read_prose(text, "f", 1).missing_figures(view) == 1
    assert read_prose(text, "f", 1).missing_figures({}) == 4


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a\n\nb {{ node }}", 12, "allowed: nodes"),
        ("[a](/b/{{ event }})", 10, "a figure is not allowed"),
        ("[a](/b '{{ event }}')", 10, "a figure is not allowed"),
        ("```{{ event }}\n```", 10, "a figure is not allowed"),
        ("a\n```\nb", 11, "no end"),
        ("a\n> ```", 11, "no end"),
        ("> b\n>\n> # c", 12, "heading"),
        ("a\n\n#### b", 12, "heading"),
        ("a\n| b | c |", 11, "a table needs"),
        ("| a | b |\n|---|", 10, "a table needs"),
        ("| a | b |\n|---|---|\n| 1 | 2 | 3 |", 12, "3 cells; the head has 2"),
        ("> | a | b |\n> |---|---|\n> | 1 |", 12, "1 cells; the head has 2"),
        ("a\n\ue0000\ue001", 11, "not allowed"),
    ],
)
def test_a_mistake_is_reported_with_its_line(text, line, words):
    with pytest.raises(LessonError) as refused:
        html(text)
    assert refused.value.line == line
    assert words in str(refused.value)
    assert str(refused.value).startswith(f"lesson.en.md, line {line}: ")


@given(st.text(alphabet="ab*`[](){}<>&\"'|-1.# \n/中，", max_size=80))
def test_no_text_makes_markup_of_its_own(text):
    try:
        made = html(text)
    except LessonError:
        return
    tags = set(re.findall(r"</?([a-z]+)", made))
    assert tags <= {
        "p",
        "strong",
        "em",
        "code",
        "pre",
        "aside",
        "ul",
        "ol",
        "li",
        "a",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    assert not re.search(r"<(?!/?[a-z])", made)
    assert all(re.fullmatch("|/(?!/).*", address) for address in re.findall('href="([^"]*)"', made))
