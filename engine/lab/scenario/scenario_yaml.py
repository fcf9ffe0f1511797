"""A YAML reader that reads a text field by field and knows the line of each field.

Only the safe core of YAML is allowed: mappings, lists and scalars. A field determines the meaning of a word, not YAML
1.1's guesses: ``on`` stays a word, ``010`` is not an octal number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, TypeVar

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from engine.fields.field import Field, only_known
from engine.fields.refusal import FieldRefused
from engine.lab.scenario.errors import ScenarioError

#: Bounds of a text from an untrusted source. The largest scenario that comes with GlassMQ has some 4,400 characters.
TEXT_MAX_CHARACTERS = 40_000
DEPTH_MAX = 12
EVENTS_MAX = 10_000
#: libyaml's, which is about ten times as fast; an installation may lack it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_INTEGER = re.compile(r"[+-]?[0-9]{1,15}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,9})?")
_Value = TypeVar("_Value")
_Word = TypeVar("_Word", bound=StrEnum)


def line_of(node: Node) -> int:
    """Return the line in which ``node`` begins, from 1."""
    return int(node.start_mark.line) + 1


def read_yaml(text: str, max_characters: int = TEXT_MAX_CHARACTERS) -> Section:
    """Read the whole text as one mapping. Raises :class:`ScenarioError`."""
    if len(text) > max_characters:
        raise ScenarioError(1, "", f"the text has {len(text)} characters; allowed: {max_characters}")
    try:
        _check_events(text)
        root = yaml.compose(text, Loader=_LOADER)
    except UnicodeEncodeError as error:
        raise ScenarioError(1, "", f"this is not YAML: {error.reason}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
        raise ScenarioError(mark.line + 1 if mark else 1, "", f"this is not YAML: {problem}") from error
    if root is None:
        raise ScenarioError(1, "", "the text is empty")
    return Section(root, "")


def _check_events(text: str) -> None:
    """Refuse aliases (they can expand a small text enormously), tags, deep nesting, too many values, and several
    documents.
    """
    depth = documents = 0
    for count, event in enumerate(yaml.parse(text, Loader=_LOADER), 1):
        line = event.start_mark.line + 1 if event.start_mark is not None else 1
        if count > EVENTS_MAX:
            raise ScenarioError(line, "", f"the text has more than {EVENTS_MAX} names and values")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise ScenarioError(line, "", "anchors (&) and aliases (*) are not allowed: write the value out")
        if getattr(event, "tag", None) is not None:
            raise ScenarioError(line, "", "tags (!) are not allowed: every field knows its own type")
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise ScenarioError(line, "", "a second document (---) is not allowed: a scenario is one text")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEPTH_MAX:
                raise ScenarioError(line, "", f"nested deeper than {DEPTH_MAX} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


class Section:
    """One mapping of the text. Read every allowed field, then call :meth:`finish`.

    :param path: full name of the mapping, such as ``nodes.C1``; empty for the whole text.
    """

    def __init__(self, node: Node, path: str) -> None:
        self.path = path
        self.line = line_of(node)
        if not isinstance(node, MappingNode):
            raise ScenarioError(self.line, path, "must be a mapping (name: value)")
        self._fields: dict[str, tuple[ScalarNode, Node]] = {}
        #: Fields read so far, which are the allowed ones, in order.
        self._asked: dict[str, None] = {}
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                raise ScenarioError(line_of(key), path, "a name must be a single word")
            if key.value in self._fields:
                raise ScenarioError(line_of(key), self.name_of(key.value), "stands twice")
            self._fields[key.value] = (key, value)

    def name_of(self, field: str) -> str:
        """Return the field's full name."""
        return f"{self.path}.{field}" if self.path else field

    def fail(self, field: str, message: str) -> ScenarioError:
        """Return an error about ``field``, in its line, to be raised."""
        entry = self._fields.get(field)
        line = line_of(entry[1]) if entry is not None else self.line
        return ScenarioError(line, self.name_of(field), message)

    def has(self, field: str) -> bool:
        """Return whether the field has a value; ``null`` counts as absent."""
        return self._node(field) is not None

    def names(self) -> Iterator[str]:
        """Yield the names of all fields, in order. For mappings with free names; they count as read."""
        for name in self._fields:
            self._asked[name] = None
            yield name

    def finish(
        self, not_yet: Sequence[str] = (), roles_with: Callable[[str], Sequence[str]] = lambda field: ()
    ) -> None:
        """Raise for the first field that was not read. ``not_yet``: names of features that do not exist yet;
        ``roles_with``: returns the kinds of nodes that have a field.
        """
        for name, (key, _) in self._fields.items():
            if name in self._asked:
                continue
            roles = roles_with(name)
            if roles or name in not_yet:
                what = "is not supported by this version" if name in not_yet else "is not allowed here"
                if roles:
                    what += f", only with role {' or '.join(roles)}"
                raise ScenarioError(line_of(key), self.name_of(name), f"{what}; allowed: {', '.join(self._asked)}")
            try:
                only_known([name], self._asked)
            except FieldRefused as refused:
                raise ScenarioError(line_of(key), self.name_of(name), str(refused.detail)) from None

    # --- values ------------------------------------------------------------------------------------------------------

    def value(self, field: Field) -> Any:
        """Return the value of the field, or its default."""
        node = self._node(field.name)
        try:
            return field.read(None if node is None else _plain(node), self.name_of(field.name), of_text=True)
        except FieldRefused as refused:
            raise self.fail(field.name, str(refused.detail)) from None

    def read(self, table: Iterable[Field]) -> dict[str, Any]:
        """Return the values of all fields of the table, by name."""
        return {field.name: self.value(field) for field in table}

    def text(self, field: str, default: str | None = None, *, max_length: int = 2_000) -> str:
        """Return a text. Without ``default`` the field is required."""
        return str(self.value(Field(field, "text", 0, max_length, _or_required(default))))

    def choice(self, field: str, allowed: Sequence[str], default: str | None = None) -> str:
        """Return the word in ``field``, which must be one of ``allowed``."""
        return str(self.value(Field(field, "choice", default=_or_required(default), allowed=tuple(allowed))))

    def word(self, field: str, default: _Word) -> _Word:
        """Return a member of the enumeration of ``default``."""
        return type(default)(self.choice(field, list(type(default)), default))

    def words_of(self, field: str, allowed: Sequence[_Word]) -> tuple[_Word, ...]:
        """Return words in one text, separated by commas; empty if the field is absent."""
        text = self.text(field, "", max_length=200)
        words = [word.strip() for word in text.split(",")] if text else []
        self._check_words(field, words, allowed)
        return tuple(next(one for one in allowed if one == word) for word in words)

    def switch(self, field: str, *, default: bool) -> bool:
        """Return the boolean in ``field``."""
        return bool(self.value(Field(field, "switch", default=default)))

    def integer(self, field: str, low: int, high: int, default: int | None = None) -> int:
        """Return an integer from ``low`` to ``high``."""
        return int(self.value(Field(field, "integer", low, high, _or_required(default))))

    def optional_integer(self, field: str, low: int, high: int) -> int | None:
        """Return an integer as ``integer`` does; None if the field is absent or ``null``."""
        found: int | None = self.value(Field(field, "integer", low, high, default=None))
        return found

    def number(self, field: str, low: float, high: float, default: float) -> float:
        """Return a number from ``low`` to ``high``, possibly with decimals."""
        return float(self.value(Field(field, "number", low, high, default)))

    def words(self, field: str, *, max_count: int = 100) -> tuple[str, ...]:
        """Return a list of words; empty if the field is absent."""
        return tuple(_scalar(node, self.name_of(field)) for node in self._items(field, max_count))

    def choices(self, field: str, allowed: Collection[str], *, max_count: int = 100) -> tuple[str, ...]:
        """Return a list of words of ``allowed``, each once; empty if the field is absent."""
        words = self.words(field, max_count=max_count)
        self._check_words(field, words, allowed)
        return tuple(dict.fromkeys(words))

    def section(self, field: str) -> Section | None:
        """Return the mapping in ``field``; None if it is absent."""
        node = self._node(field)
        return None if node is None else Section(node, self.name_of(field))

    def part(self, field: str, parse: Callable[[Section], _Value]) -> _Value | None:
        """Return what ``parse`` makes of the mapping in ``field``; None if it is absent.

        Any field that it did not read is an error.
        """
        section = self.section(field)
        if section is None:
            return None
        value = parse(section)
        section.finish()
        return value

    def sections(self, field: str, *, max_count: int = 100) -> list[Section]:
        """Return a list of mappings, or a single one; empty if the field is absent."""
        node = self._node(field)
        if isinstance(node, MappingNode):
            return [Section(node, self.name_of(field))]
        items = self._items(field, max_count)
        return [Section(item, f"{self.name_of(field)}[{index}]") for index, item in enumerate(items)]

    def plain(self, field: str) -> int | float | bool | str:
        """Return a number, a switch (true, false) or a text, by its form; a quoted one is a text."""
        node = self._node(field)
        if node is None:
            raise self.fail(field, "a value is missing")
        word = _scalar(node, self.name_of(field))
        if isinstance(node, ScalarNode) and not node.style:
            if word in ("true", "false"):
                return word == "true"
            if _INTEGER.fullmatch(word):
                return int(word)
            if _NUMBER.fullmatch(word):
                return float(word)
        return word

    def any_value(self, field: str) -> int | float | bool | str | list[str]:
        """Return a value as ``plain`` does; a list gives its words."""
        if isinstance(self._node(field), SequenceNode):
            return list(self.words(field))
        return self.plain(field)

    # --- internals ---------------------------------------------------------------------------------------------------

    def _check_words(self, field: str, words: Iterable[str], allowed: Collection[str]) -> None:
        for word in words:
            if word not in allowed:
                raise self.fail(field, f"{word!r} is not allowed; allowed: {', '.join(allowed)}")

    def _node(self, field: str) -> Node | None:
        self._asked[field] = None
        entry = self._fields.get(field)
        if entry is None or (isinstance(entry[1], ScalarNode) and entry[1].tag == "tag:yaml.org,2002:null"):
            return None
        return entry[1]

    def _items(self, field: str, max_count: int) -> list[Node]:
        node = self._node(field)
        if node is None:
            return []
        if not isinstance(node, SequenceNode):
            raise self.fail(field, "must be a list: [a, b]")
        if len(node.value) > max_count:
            raise self.fail(field, f"has {len(node.value)} entries; allowed: {max_count}")
        return list(node.value)


def _or_required(default: object) -> object:
    return ... if default is None else default


def _plain(node: Node) -> object:
    """Return the words of ``node`` as JSON has them."""
    if isinstance(node, SequenceNode):
        return [_plain(one) for one in node.value]
    if isinstance(node, MappingNode):
        return {str(key.value): _plain(one) for key, one in node.value}
    return str(node.value)


def _scalar(node: Node, name: str) -> str:
    if not isinstance(node, ScalarNode):
        raise ScenarioError(line_of(node), name, "must be a single value, not a list or a mapping")
    return str(node.value)
