"""Markdown of lessons, and the figures in it."""

import re
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.lessons.errors import LessonError
from app.lessons.prose import read_prose
from tests.support.tiers import examples


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


def missing_figures(prose, view):
    """How many figures have no value in the world that ``view`` shows."""
    return sum(figure.value(view) in (None, []) for figure in prose.figures)


def test_figures_are_filled_in_wherever_they_stand():
    view = {"event": 7, "nodes": {"B1": {"status": "<b>"}}}
    text = "{{ event }} in `{{ nodes.B1.status }}`\n\n- **{{event + 1}}**\n\n{{ nodes.C1\n.status }}"
    assert re.sub(r'<span class="lesson-figure">(.*?)</span>', r"[\1]", html(text, view)) == (
        "<p>[7] in <code>[&lt;b&gt;]</code></p><ul><li><strong>[8]</strong></li></ul><p>[–]</p>"
    )
    assert missing_figures(read_prose(text, "f", 1), view) == 1
    assert missing_figures(read_prose(text, "f", 1), {}) == 4


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a\n\nb {{ node }}", 12, "allowed: nodes"),
        ("[a](/b/{{ event }})", 10, "a figure is not allowed"),
        ("[a](/b '{{ event }}')", 10, "a figure is not allowed"),
        ("```{{ event }}\n```", 10, "a figure is not allowed"),
        ("[a]()", 10, "a link has no address"),
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


#: Pieces of which attackers make markup and addresses.
_HOSTILE = [
    *("javascript:alert(1)", "JaVaScRiPt:", "java\tscript:", "data:text/html,<b>", "vbscript:", "&#106;avascript:"),
    *("javascript&colon;x", "https://e.org", "//e.org", "/\\e.org", "/\t/e.org", "/&#47;e.org", "/&Tab;/e.org"),
    *("\\/\\/e.org", "/%2f/e.org", "/lab", "</	/e.org>", "<//e.org>", "<https://e.org>", "<a@e.org>"),
    *("<script>", "</p>", "<img src=x onerror=x>", "<!--", "-->", "<![CDATA[", "<?x?>", "<svg/onload=x>", "&lt;b&gt;"),
    *('"', "'", "`", "``", "**", "*", "[", "]", "(", ")", "](", "![", "[a]: ", "[a]", "^", "<", ">", "&", "\\", "\0"),
    *('" onclick="x', "' onclick='x", "```", "~~~", '~~~" onclick="x', "\n", "\n\n", "> ", "- ", "1. ", "7) ", "    "),
    *("| a | b |\n|---|---|\n| ", "{{ event }}", "{{ nodes.B1.status }}", "\u2028", "text", " ", "\u202e", "\ufeff"),
]
_VIEW = {"event": 7, "nodes": {"B1": {"status": "\"'><script>x</script>&amp;"}}}
#: Tag -> the attributes it may have, and what they may be; no other tag may come out of a text.
_ALLOWED = {
    **{tag: {} for tag in ("p", "strong", "em", "pre", "ul", "li", "table", "thead", "tbody", "tr", "td")},
    "ol": {"start": r"\d+"},
    "th": {"scope": "col"},
    "aside": {"class": "lesson-box"},
    "code": {"class": "language-.*"},
    "span": {"class": "lesson-figure"},
    "a": {"href": ".*", "title": "(?s:.*)"},
}
_HERE = "http://here.example/lab/x"


class _Checked(HTMLParser):
    """Reads HTML as a browser does, and refuses what a text may not bring."""

    def __init__(self, made: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.feed(made)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        allowed = _ALLOWED[tag]
        for name, value in attrs:
            assert re.fullmatch(allowed[name], value or ""), f"<{tag} {name}={value!r}>"
        if tag == "a":
            [address] = [value for name, value in attrs if name == "href"]
            # A browser leaves out tabs and line ends, and takes a backslash for a slash.
            read = re.sub("[\t\n\r]", "", address).replace("\\", "/").strip("".join(map(chr, range(33))))
            leads = urlsplit(urljoin(_HERE, read))
            assert (leads.scheme, leads.netloc) == ("http", "here.example"), address

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    handle_decl = handle_pi = unknown_decl = handle_comment


@settings(max_examples=examples(quick=200, full=3_000))
@given(st.lists(st.sampled_from(_HOSTILE), max_size=14).map("".join), st.booleans())
def test_no_html_and_no_address_elsewhere_comes_through(text, inline):
    try:
        made = html(text, _VIEW, inline=inline)
    except LessonError:
        return
    _Checked(made)


@pytest.mark.parametrize("address", _HOSTILE)
@pytest.mark.parametrize("link", ["[x]({})", "[x](<{}>)", '[x]({} "title")', "[x][a]\n\n[a]: {}", "![x]({})", "<{}>"])
def test_no_address_leads_elsewhere_however_a_link_is_written(link, address):
    try:
        made = html(link.format(address), _VIEW)
    except LessonError:
        return
    _Checked(made)
    if 'href="' in made:
        assert address.lstrip("<").startswith("/")


def test_the_check_of_these_tests_finds_what_it_must():
    for made in (
        "<script></script>",
        '<a href="//e.org">x</a>',
        '<a href="/\t/e.org">x</a>',
        '<p onclick="x">y</p>',
        "<p>",
        "<!--x-->",
    ):
        with pytest.raises((AssertionError, KeyError)):
            _Checked(made)
    for made in ('<a href="javascript:x">x</a>', '<a href="\x01javascript:x">x</a>', '<a href="/\\e.org">x</a>'):
        with pytest.raises(AssertionError):
            _Checked(made)


def test_a_text_that_nests_without_end_is_html_all_the_same():
    for text in (
        "> " * 400 + "a",
        "- " * 400 + "a",
        "[" * 2_000,
        "*" * 2_000,
        "a" + "`" * 999,
        "*a " * 999,
        "[a](" * 500,
    ):
        _Checked(html(text))
