"""The texts of the page in English and Simplified Chinese: two flat JSON files with the same keys."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from engine.texts import LANGUAGES, fill

if TYPE_CHECKING:
    from werkzeug.datastructures import LanguageAccept

DEFAULT_LANGUAGE = "en"

_FOLDER = Path(__file__).parent.parent / "translations"


class Number(int):
    """A number in a text: ``{n}`` prints it, ``{n:message|messages}`` prints the word for one or for several."""

    def __format__(self, words: str) -> str:
        one, has_words, several = words.partition("|")
        if not has_words:
            return f"{int(self):,}"
        return one if self == 1 else several


@cache
def texts(language: str) -> dict[str, str]:
    """Return all texts of one language by key. ``language`` is one of :data:`LANGUAGES`."""
    loaded: dict[str, str] = json.loads((_FOLDER / f"{language}.json").read_text(encoding="utf-8"))
    return loaded


def translate(language: str, key: str, **values: object) -> str:
    """Return the text of ``key``, its ``{placeholders}`` filled. Raises KeyError for an unknown key: a test finds
    those.

    A value that is itself a text by language is used in that language.
    """
    text = texts(language)[key]
    return fill(text, language, values) if values else text


def in_all_languages(key: str, **values: object) -> dict[str, str]:
    """Return the text in each language."""
    return {language: translate(language, key, **values) for language in LANGUAGES}


def choose_language(wanted: str | None, remembered: str | None, accepted: LanguageAccept) -> str:
    """Return the language of a request: the one in the address, else the one in a cookie, else the browser's first.

    Werkzeug's ``best_match`` would prefer an exact ``en`` to ``zh-CN``, even if the browser ranks ``en`` last.
    """
    preferred = (name.partition("-")[0].lower() for name, quality in accepted if quality > 0)
    return next((name for name in (wanted, remembered, *preferred) if name in LANGUAGES), DEFAULT_LANGUAGE)
