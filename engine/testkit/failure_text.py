"""The texts of failed assertions: what was there as a table, and the messages that come nearest to the wanted ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from engine.protocol.message.message import MessageExt
from engine.testkit.stored_messages import Selection

#: Rows of a table, and the length of a cell; a test that fails need not show everything.
ROWS_MAX = 20
CELL_MAX_LENGTH = 48
MISSES_MAX = 5


def table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return ``rows`` in aligned columns, at most :data:`ROWS_MAX` of them."""
    shown = [[_cell(value) for value in row] for row in rows[:ROWS_MAX]]
    widths = [max(len(row[column]) for row in (headings, *shown)) for column in range(len(headings))]
    lines = ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in (headings, *shown)]
    if len(rows) > ROWS_MAX:
        lines.append(f"  ... and {len(rows) - ROWS_MAX} more")
    return "\n".join(lines)


def _cell(value: object) -> str:
    text = _text(value) if isinstance(value, bytes) else str("" if value is None else value) or "-"
    text = "".join(letter if letter.isprintable() else "." for letter in text)
    return text if len(text) <= CELL_MAX_LENGTH else text[: CELL_MAX_LENGTH - 3] + "..."


def _text(body: bytes) -> str:
    try:
        return body.decode() or "-"
    except UnicodeDecodeError:
        return body.hex(" ")


def message_table(messages: Sequence[MessageExt]) -> str:
    """Return messages as a table."""
    headings = ("topic", "queue", "offset", "tag", "keys", "retries", "body")
    return table(headings, [_row(message) for message in messages])


def _row(message: MessageExt) -> tuple[object, ...]:
    keys = " ".join(message.keys)
    return (
        *(message.topic, message.queue_id, message.queue_offset, message.tags, keys, message.reconsume_times),
        message.body,
    )


def what_was_there(
    topic: str, there: Sequence[MessageExt], wanted: Selection, topics: Iterable[tuple[str, int]], clients: str
) -> str:
    """Return the messages of ``topic``; where it has none, the topics that have some; else what is said of clients."""
    if there:
        # Those that come nearest first.
        ranked = sorted(there, key=lambda message: len(wanted.misses(message)))
        return f"\n{topic} has {len(there)}:\n{message_table(ranked)}"
    others = [(name, count) for name, count in topics if count]
    listed = table(("topic", "messages"), others) if others else f"  no topic has any{clients}"
    return f"\n{topic} has no message; messages are in:\n{listed}"


def nearest_misses(topic: str, wanted: Selection, everywhere: Iterable[MessageExt]) -> str:
    """Return the messages that agree with ``wanted`` in a part and differ in another, or are in another topic."""
    found: list[tuple[int, str, MessageExt]] = []
    for message in everywhere:
        misses = wanted.misses(message)
        agrees = [name for name in wanted.wanted if name not in misses]
        is_elsewhere = message.topic != topic
        if not agrees or not (misses or is_elsewhere):
            continue
        same = "same " + " and ".join(agrees)
        other = " and ".join(
            [*(_OTHER[name](message) for name in misses), *([f"topic {message.topic}"] * is_elsewhere)]
        )
        found.append((len(misses) + is_elsewhere, f"{same}, but {other}", message))
    found.sort(key=lambda one: one[0])
    rows = [(why, *_row(message)) for _, why, message in found[:MISSES_MAX]]
    headings = ("nearest misses", "topic", "queue", "offset", "tag", "keys", "retries", "body")
    return "\n" + table(headings, rows) if rows else ""


_OTHER: dict[str, Callable[[MessageExt], str]] = {
    "key": lambda message: f"key {' '.join(message.keys) or '-'}",
    "tag": lambda message: f"tag {message.tags or '-'}",
    "body": lambda message: "another body",
    "properties": lambda message: "other properties",
}
