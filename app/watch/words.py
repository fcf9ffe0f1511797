"""Numbers and durations as people read them, by language: the values in the texts of the verdict."""

from __future__ import annotations

from collections.abc import Mapping

from app.foundation.translator import in_all_languages

#: The same in every language, or words by language.
Words = str | Mapping[str, str]


def amount(number: int) -> str:
    """Return a number with separators: 3000 -> "3,000"."""
    return f"{number:,}"


def listed(names: list[str]) -> Mapping[str, str]:
    """Return a list such as "0, 1, 2", in each language with its own comma."""
    return {language: separator.join(names) for language, separator in in_all_languages("text.list_separator").items()}


def span(milliseconds: float) -> Mapping[str, str]:
    """Return a coarse duration: "40 s", "3 min", "2 h 5 min", "3 d"."""
    seconds = max(0, round(milliseconds / 1_000))
    if seconds < 100:
        return in_all_languages("span.seconds", n=seconds)
    minutes = round(seconds / 60)
    if minutes < 100:
        return in_all_languages("span.minutes", n=minutes)
    hours = minutes // 60
    if hours < 48:
        return in_all_languages("span.hours", hours=hours, minutes=minutes % 60)
    return in_all_languages("span.days", n=amount(round(hours / 24)))


def milliseconds(value: float) -> str:
    """Return a text such as "250 ms"."""
    return f"{value:,.0f} ms"


def megabytes(value: int) -> str:
    """Return a text such as "8.1 MB"."""
    return f"{value / 1_000_000:,.1f} MB"


def percent(share: float) -> str:
    """Return a percentage: 0.913 -> "91 %"."""
    return f"{100 * share:.0f} %"
