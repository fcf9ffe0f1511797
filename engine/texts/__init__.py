"""What the engine says to people: a key with arguments. The sentences stand in ``en.json`` and ``zh.json`` beside this.

Whoever refuses, finds or describes something names a key: ``Text("refusal.no_node", name="B7", known="B1, B2")``. The
sentence is made when somebody asks for it, in their language; ``str(text)`` is the English one, so that the engine can
be understood where there is no page. The catalogue is data of this package because Spark's workers get the engine and
nothing else. The page's own words stand in ``app/translations``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, reduce

LANGUAGES = ("en", "zh")


@cache
def catalogue(language: str) -> Mapping[str, str]:
    """Key -> sentence with ``{placeholders}``, the same ones in every language."""
    from importlib.resources import files  # where nothing is said, it is not needed

    loaded: dict[str, str] = json.loads(files(__name__).joinpath(f"{language}.json").read_text(encoding="utf-8"))
    return loaded


def fill(sentence: str, language: str, arguments: Mapping[str, object]) -> str:
    """The sentence with its placeholders filled. An argument that is itself words by language is looked up in it; any
    other mapping is what somebody wrote, and is quoted.
    """
    return sentence.format(**{name: _said(value, language) for name, value in arguments.items()})


def _said(value: object, language: str) -> object:
    if isinstance(value, Mapping) and (isinstance(value, Text) or language in value):
        return value[language]
    return value


class Text(Mapping[str, str]):
    """One thing to say, as data: compares, pickles and reads as language -> sentence.

    :ivar key: of the catalogue. One that it does not have raises KeyError when somebody asks; a test finds those.
    :ivar arguments: what stands for the placeholders: plain values, records of them, or further texts.
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
    """Several texts as one; ``between`` is the key of what stands between ``{first}`` and ``{then}``."""
    return reduce(lambda first, then: Text(between, first=first, then=then), texts)


def plain(word: object) -> Mapping[str, str]:
    """What is said alike in every language: a name, a number."""
    return dict.fromkeys(LANGUAGES, str(word))
