"""User-visible texts of the engine: a key with arguments. The sentences are in ``en.json`` and ``zh.json`` in this
folder.

Code that rejects, finds or describes something names a key: ``Text("refusal.no_node", name="B7", known="B1, B2")``. The
sentence is made when it is needed, in the language of the reader; ``str(text)`` is the English one, so that the engine
can be understood without the page. The catalogue is data of this package because Spark's workers get the engine and
nothing else. The page's own texts are in ``app/translations``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, reduce

LANGUAGES = ("en", "zh")


@cache
def catalogue(language: str) -> Mapping[str, str]:
    """Return the map from key to sentence with ``{placeholders}``, which are the same in every language."""
    from importlib.resources import files  # not needed where no text is shown

    loaded: dict[str, str] = json.loads(files(__name__).joinpath(f"{language}.json").read_text(encoding="utf-8"))
    return loaded


def fill(sentence: str, language: str, arguments: Mapping[str, object]) -> str:
    """Return the sentence with its placeholders filled. An argument that is itself a text is translated; any other
    mapping is user input and is quoted.
    """
    return sentence.format(**{name: _said(value, language) for name, value in arguments.items()})


def _said(value: object, language: str) -> object:
    if isinstance(value, Mapping) and (isinstance(value, Text) or language in value):
        return value[language]
    return value


class Text(Mapping[str, str]):
    """A text as data: it compares and pickles by value, and is a mapping language -> sentence.

    :ivar key: key in the catalogue. A missing key raises KeyError when the text is read; a test finds those.
    :ivar arguments: values of the placeholders: plain values, records of them, or further texts.
    """

    __slots__ = ("arguments", "key")

    def __init__(self, key: str, /, **arguments: object) -> None:
        self.key = key
        self.arguments = arguments

    def __getitem__(self, language: str) -> str:
        return fill(catalogue(language)[self.key], language, self.arguments)

    def __iter__(self) -> Iterator[str]:
        return iter(LANGUAGES)

    def __len__(self) -> int:
        return len(LANGUAGES)

    def __str__(self) -> str:
        return self["en"]

    def __repr__(self) -> str:
        return f"Text({self.key!r}, {self.arguments!r})"


def joined(between: str, texts: Iterable[Mapping[str, str]]) -> Mapping[str, str]:
    """Join several texts into one; ``between`` is the key of the text with ``{first}`` and ``{then}``."""
    return reduce(lambda first, then: Text(between, first=first, then=then), texts)


def plain(word: object) -> Mapping[str, str]:
    """Return a word that is the same in every language, such as a name or a number."""
    return dict.fromkeys(LANGUAGES, str(word))
