"""A lesson's prose: a small, safe part of Markdown, with figures that come from the engine.

Blocks: paragraphs, lists (``- ``, ``1. ``), tables (``| a | b |`` with a line ``|---|---|``), fenced code, and boxes
(lines that begin with ``>``: what an article claims, and what the engine does). Inside: ``**strong**``, ``*stressed*``,
`` `code` `` and links to pages of this server, ``[text](/lab)``. ``{{ expression }}`` is filled in. Everything else,
HTML too, is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from app.foundation.json_types import JsonObject
from app.lessons.errors import ExpressionError, LessonError
from app.lessons.expression import LessonExpression, figure_text
from app.lessons.expression_parser import parse_expression

_FIGURE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
#: Stands for figure n while Markdown is parsed; U+E000 and U+E001 are for private use and refused in a lesson's text.
_PLACE = re.compile("\ue000([0-9]+)\ue001")
_PRIVATE = re.compile("[\ue000\ue001]")

_INLINE = re.compile(
    r"(?P<code>`[^`]+`)"
    r"|(?P<strong>\*\*[^*]+\*\*)"
    r"|(?P<stressed>\*[^*\s][^*]*\*)"
    r"|\[(?P<link>[^\]]+)\]\((?P<address>[^)\s]*)\)"
)
_LIST_ITEM = re.compile(r"(?:(?P<bullet>-)|(?P<number>\d+\.))\s+(?P<text>.*)")
_TABLE_RULE = re.compile(r"\|(?:\s*:?-+:?\s*\|)+")
#: A line break between two Chinese characters is removed without a space.
_CHINESE_BREAK = re.compile(
    "(?<=[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef])\n(?=[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef])"
)


@dataclass(frozen=True, slots=True)
class Prose:
    """HTML in pieces, with an expression between each two.

    :ivar place: file and line, for errors.
    """

    pieces: tuple[str, ...]
    figures: tuple[LessonExpression, ...]
    place: tuple[str, int]

    def html(self, view: JsonObject) -> str:
        """Return the text with its figures in the world that ``view`` shows."""
        parts = [self.pieces[0]]
        for figure, piece in zip(self.figures, self.pieces[1:], strict=True):
            parts += (f'<span class="lesson-figure">{escape(figure_text(figure.value(view)))}</span>', piece)
        return "".join(parts)

    def missing_figures(self, view: JsonObject) -> int:
        """Return how many figures have no value in the world that ``view`` shows."""
        return sum(figure.value(view) in (None, []) for figure in self.figures)


def read_prose(text: str, file: str, line: int, *, inline: bool = False) -> Prose:
    """Parse ``text``, which begins at ``line`` of ``file``. ``inline``: one paragraph, without ``<p>``.

    Raises :class:`LessonError`.
    """
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
    html = _inline(marked.strip()) if inline else "".join(_blocks(marked.split("\n"), file, line))
    # Figures keep the order of the text: Markdown moves nothing.
    return Prose(tuple(_PLACE.split(html)[::2]), tuple(figures), (file, line))


def _blocks(lines: list[str], file: str, first_line: int) -> Iterator[str]:
    place = 0
    while place < len(lines):
        line = lines[place].strip()
        start = place
        if not line:
            place += 1
        elif line.startswith("```"):
            place += 1
            while place < len(lines) and not lines[place].strip().startswith("```"):
                place += 1
            if place == len(lines):
                raise LessonError(file, first_line + start, "``` begins code that has no end")
            yield f"<pre><code>{escape(chr(10).join(lines[start + 1 : place]))}</code></pre>"
            place += 1
        elif line.startswith("#"):
            raise LessonError(file, first_line + place, f"{line[:40]!r}: a heading is not allowed here")
        elif line.startswith(">"):
            place = _end(lines, place, ">")
            inside = [row.strip().removeprefix(">") for row in lines[start:place]]
            yield f'<aside class="lesson-box">{"".join(_blocks(inside, file, first_line + start))}</aside>'
        elif line.startswith("|"):
            place = _end(lines, place, "|")
            yield _table([row.strip() for row in lines[start:place]], file, first_line + start)
        else:
            place = _end_of_paragraph(lines, place)
            yield _paragraph_or_list([row.strip() for row in lines[start:place]])


def _end(lines: list[str], place: int, sign: str) -> int:
    """Return the place after the lines that begin with ``sign``."""
    while place < len(lines) and lines[place].strip().startswith(sign):
        place += 1
    return place


def _end_of_paragraph(lines: list[str], start: int) -> int:
    place = start
    while place < len(lines) and (stripped := lines[place].strip()):
        if place > start and stripped.startswith(("```", "|", "#", ">")):
            break
        place += 1
    return place


def _paragraph_or_list(lines: list[str]) -> str:
    """Return HTML. A list begins with its first line; a line that begins no item continues the last one."""
    first = _LIST_ITEM.fullmatch(lines[0])
    if first is None:
        return f"<p>{_inline(chr(10).join(lines))}</p>"
    items: list[str] = []
    for line in lines:
        match = _LIST_ITEM.fullmatch(line)
        if match is not None:
            items.append(match["text"])
        else:
            items[-1] += f"\n{line}"
    name = "ul" if first["bullet"] else "ol"
    return f"<{name}>{''.join(f'<li>{_inline(item)}</li>' for item in items)}</{name}>"


def _table(rows: list[str], file: str, line: int) -> str:
    if len(rows) < 3 or not _TABLE_RULE.fullmatch(rows[1]):
        raise LessonError(file, line, "a table needs a head, a line |---|---| below it, and rows")
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in (rows[0], *rows[2:])]
    for number, row in enumerate(cells):
        if len(row) != len(cells[0]):
            raise LessonError(file, line + number + (number > 0), f"{len(row)} cells; the head has {len(cells[0])}")
    head = "".join(f'<th scope="col">{_inline(cell)}</th>' for cell in cells[0])
    body = "".join(f"<tr>{''.join(f'<td>{_inline(cell)}</td>' for cell in row)}</tr>" for row in cells[1:])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _inline(text: str) -> str:
    text = _CHINESE_BREAK.sub("", text)
    parts: list[str] = []
    place = 0
    for match in _INLINE.finditer(text):
        parts.append(escape(text[place : match.start()]))
        place = match.end()
        if code := match["code"]:
            parts.append(f"<code>{escape(code[1:-1])}</code>")
        elif strong := match["strong"]:
            parts.append(f"<strong>{_inline(strong[2:-2])}</strong>")
        elif stressed := match["stressed"]:
            parts.append(f"<em>{_inline(stressed[1:-1])}</em>")
        elif _is_own_page(match["address"]):
            parts.append(f'<a href="{escape(match["address"])}">{_inline(match["link"])}</a>')
        else:
            parts.append(escape(match[0]))
    parts.append(escape(text[place:]))
    return "".join(parts).replace("\n", " ")


def _is_own_page(address: str) -> bool:
    return address.startswith("/") and not address.startswith("//") and "\\" not in address
