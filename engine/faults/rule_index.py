"""An index that finds the rules that may match a frame: by the frame's name, then by one pattern of the rule.

A broker with a hundred rules checks only a few for each frame. The rules found are then evaluated in full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from engine.faults.fault_rule import Direction, FaultRule
from engine.faults.frame_subject import REPLY, FrameSubject
from engine.protocol.request_code import RequestCode

_BOTH = frozenset(Direction)
#: The frequent requests that only clients send: frames that a broker sends are not examined for rules about them.
_ONLY_IN = frozenset(
    code.name
    for code in (
        RequestCode.SEND_MESSAGE,
        RequestCode.SEND_MESSAGE_V2,
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.PULL_MESSAGE,
        RequestCode.END_TRANSACTION,
        RequestCode.CONSUMER_SEND_MSG_BACK,
        RequestCode.UPDATE_CONSUMER_OFFSET,
        RequestCode.QUERY_CONSUMER_OFFSET,
        RequestCode.LOCK_BATCH_MQ,
        RequestCode.UNLOCK_BATCH_MQ,
        RequestCode.HEART_BEAT,
        RequestCode.GET_CONSUMER_LIST_BY_GROUP,
    )
)
#: The maximum number of cached frame names; there are few, but a hostile client can invent numbers.
_NAMES_KEPT = 500
#: The fields of a frame by which rules are indexed -> its values.
_NAMES_OF: dict[str, Callable[[FrameSubject, str], Iterable[str]]] = {
    "key": lambda subject, client: subject.keys,
    "topic": lambda subject, client: subject.topics,
    "group": lambda subject, client: subject.groups,
    "client": lambda subject, client: (client,),
}


def directions_of(rule: FaultRule) -> frozenset[Direction]:
    """Return the directions in which a rule may find matching frames."""
    if rule.direction:
        return frozenset({Direction(rule.direction)})
    return frozenset({Direction.IN}) if rule.frame in _ONLY_IN else _BOTH


class _Patterns:
    """The rules for one frame name that are indexed by one of their fields."""

    def __init__(self, field: str) -> None:
        self.field = field
        self._names_of = _NAMES_OF[field]
        self._exact: dict[str, list[FaultRule]] = {}
        #: Length of a pattern's prefix -> prefix -> rules.
        self._beginnings: dict[int, dict[str, list[FaultRule]]] = {}

    def add(self, pattern: str, rule: FaultRule) -> None:
        beginning = pattern[:-1]
        table = self._beginnings.setdefault(len(beginning), {}) if pattern.endswith("*") else self._exact
        table.setdefault(beginning if pattern.endswith("*") else pattern, []).append(rule)

    def find(self, subject: FrameSubject, client: str, found: list[FaultRule]) -> None:
        for name in self._names_of(subject, client):
            if name in self._exact:
                found += self._exact[name]
            for length, table in self._beginnings.items():
                found += table.get(name[:length], ()) if len(name) >= length else ()


class _Named:
    """The rules for one frame name."""

    def __init__(self) -> None:
        self.any: list[FaultRule] = []
        self.patterns: list[_Patterns] = []

    def add(self, rule: FaultRule) -> None:
        field = next((field for field in _NAMES_OF if getattr(rule, field)), None)
        if field is None:
            self.any.append(rule)
        else:
            patterns = next((known for known in self.patterns if known.field == field), None)
            if patterns is None:
                patterns = _Patterns(field)
                self.patterns.append(patterns)
            patterns.add(getattr(rule, field), rule)


class RuleIndex:
    """The index of a node's rules.

    :ivar needs_client: whether a rule depends on the client.
    :ivar ends_ms: when the first rule with a time limit expires; None: no rule has one.
    """

    def __init__(self, rules: Sequence[FaultRule]) -> None:
        self.rules = rules
        self.needs_client = any(rule.client for rule in rules)
        self.ends_ms = min((rule.made_ms + rule.for_ms for rule in rules if rule.for_ms), default=None)
        self._by_name: dict[str, _Named] = {}
        for rule in rules:
            self._by_name.setdefault(rule.frame, _Named()).add(rule)
        self._found_by_name: dict[str, Sequence[_Named]] = {}

    def candidates(self, subject: FrameSubject, client: str) -> Sequence[FaultRule]:
        """Return the rules that may match the frame, oldest first, each once."""
        found: list[FaultRule] = []
        for named in self._named(subject.name):
            found += named.any
            for patterns in named.patterns:
                patterns.find(subject, client, found)
        if len(found) > 1:
            return sorted(dict.fromkeys(found), key=lambda rule: rule.rule_id)
        return found

    def _named(self, name: str) -> Sequence[_Named]:
        """Return the rules of any frame, of this one, and for a reply also of any reply."""
        known = self._found_by_name.get(name)
        if known is None:
            frames = dict.fromkeys(("", name, REPLY if name.startswith(REPLY) else ""))
            known = [self._by_name[frame] for frame in frames if frame in self._by_name]
            if len(self._found_by_name) < _NAMES_KEPT:
                self._found_by_name[name] = known
        return known
