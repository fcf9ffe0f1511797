"""A lesson's prose: a safe part of Markdown, with figures that come from the engine.

Blocks: paragraphs, lists (``- ``, ``1. ``, nested by indentation), tables (``| a | b |`` with a line ``|---|---|``),
fenced code, and boxes (lines that begin with ``>``: what an article claims, and what the engine does). Inside:
``**strong**``, ``*stressed*``, `` `code` `` and links to pages of this server, ``[text](/lab)``. ``{{ expression }}``
is filled in. Everything else, HTML too, is text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import TYPE_CHECKING, NoReturn

from app.lessons.errors import ExpressionError, LessonError
from app.lessons.expression import LessonExpression, ShownWorld, figure_text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline

_FIGURE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
#: Stands for figure n while Markdown is parsed; U+E000 and U+E001 are for private use and refused in a lesson's text.
_PLACE = re.compile("\ue000([0-9]+)\ue001")
_PRIVATE = re.compile("[\ue000\ue001]")

#: Strong or stressed text. CommonMark's own rule does not end it after a Chinese full stop that no space follows.
_STRESS = re.compile(r"\*\*(?P<strong>[^*]+)\*\*|\*(?P<em>[^*\s][^*]*)\*")
#: A line break between two Chinese characters is removed without a space.
_CHINESE_BREAK = re.compile(
    "(?<=[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef])\n *(?=[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef])"
)


@dataclass(frozen=True, slots=True)
class Prose:
    """HTML in pieces, with an expression between each two.

    :ivar place: file and line, for errors.
    """

    pieces: tuple[str, ...]
    figures: tuple[LessonExpression, ...]
    place: tuple[str, int]

    def html(self, view: ShownWorld) -> str:
        """Return the text with its figures in the world that ``view`` shows."""
        parts = [self.pieces[0]]
        for figure, piece in zip(self.figures, self.pieces[1:], strict=True):
            parts += (f'<span class="lesson-figure">{escape(figure_text(figure.value(view)))}</span>', piece)
        return "".join(parts)


def read_prose(text: str, file: str, line: int, *, inline: bool = False) -> Prose:
    """Parse ``text``, which begins at ``line`` of ``file``. ``inline``: one paragraph, without ``<p>``.

    Raises :class:`LessonError`.
    """
    from app.lessons.expression_parser import parse_expression

    if match := _PRIVATE.search(text):
        raise LessonError(
            file, line + text.count("\n", 0, match.start()), "U+E000 and U+E001 are not allowed in a text"
        )
    figures: list[LessonExpression] = []

    def put_aside(match: re.Match[str]) -> str:
        try:
            figures.append(parse_expression(match[1].strip()))
        except ExpressionError as error:
            raise LessonError(file, line + text.count("\n", 0, match.start()), str(error)) from error
        return f"\ue000{len(figures) - 1}\ue001"

    marked = _FIGURE.sub(put_aside, text)
    place = {"file": file, "line": line}
    html = _markdown().renderInline(marked.strip(), place) if inline else _markdown().render(marked, place).rstrip()
    if html.count("\ue000") != len(figures) or re.search("<[^<>]*\ue000", html):
        raise LessonError(file, line, "a figure is not allowed in a link's address or title, or after ```")
    if '<a href=""' in html:
        raise LessonError(file, line, "a link has no address; allowed: pages of this server, as in [text](/lab)")
    # Figures keep the order of the text: Markdown moves nothing.
    return Prose(tuple(_PLACE.split(html)[::2]), tuple(figures), (file, line))


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("zero").enable(["heading", "list", "table", "fence", "blockquote", "backticks", "link"])
    markdown.core.ruler.after("block", "mistakes", _refuse_mistakes)
    markdown.core.ruler.after("mistakes", "page", _adapt_to_page)
    markdown.inline.ruler.push("stress", _read_stress)
    markdown.validateLink = _is_own_page  # type: ignore[assignment,method-assign]  # the library's documented way
    return markdown


def _refuse_mistakes(state: StateCore) -> None:
    """Refuse what would not be shown as its author meant it."""
    lines = state.src.split("\n")
    columns = 0

    def fail(line: int, problem: str) -> NoReturn:
        raise LessonError(state.env["file"], state.env["line"] + line, problem)

    for token in state.tokens:
        first, end = token.map or (0, 0)
        match token.type:
            case "heading_open":
                fail(first, f"{lines[first].strip()[:40]!r}: a heading is not allowed here")
            case "fence" if end - first < 2 or not lines[end - 1].strip("> ").startswith(token.markup):
                fail(first, f"{token.markup} begins code that has no end")
            case "thead_open":
                columns = len(_cells(lines[first]))
            case "tr_open" if (cells := len(_cells(lines[first]))) != columns:
                fail(first, f"{cells} cells; the head has {columns}")
            case "inline":
                for number, line in enumerate(token.content.split("\n"), first):
                    if line.startswith("|"):
                        fail(number, "a table needs a head, and a line |---|---| with as many cells below it")


def _cells(row: str) -> list[str]:
    return row.strip("> ").strip("|").split("|")


def _adapt_to_page(state: StateCore) -> None:
    for token in state.tokens:
        if token.type == "inline":
            token.content = _CHINESE_BREAK.sub("", token.content).replace("\n", " ")
        elif token.tag == "blockquote":
            token.tag, token.attrs = "aside", {"class": "lesson-box"} if token.nesting == 1 else {}
        elif token.tag in ("th", "td"):
            token.attrs = {"scope": "col"} if token.type == "th_open" else {}


def _read_stress(state: StateInline, silent: bool) -> bool:
    match = _STRESS.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        tag = str(match.lastgroup)
        state.push(f"{tag}_open", tag, 1)
        state.pos, end, state.posMax = match.start(tag), state.posMax, match.end(tag)
        state.md.inline.tokenize(state)
        state.posMax = end
        state.push(f"{tag}_close", tag, -1)
    state.pos = match.end()
    return True


def _is_own_page(address: str) -> bool:
    return address.startswith("/") and not address.startswith("//") and "\\" not in address
