"""A recording of real clients as a scenario of the lab, as far as possible, and a list of what is missing in it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from app.lab.recorded.recorded_clients import RecordedClients, RecordedConsumer, RecordedProducer, SentMessage
from app.lab.views.frame_recording_view import frame_recording_view
from app.lab.views.recorded_frames import RecordedFrames, read_frames
from engine.faults.fault_rule import RULE_FIELDS, FaultAction
from engine.lab.run.recording import Recording, python_version
from engine.lab.scenario.errors import RecordingRefused, ScenarioError
from engine.lab.scenario.kinds.node_kind import TRAFFIC_MAX
from engine.lab.scenario.kinds.producer import TransactionWord
from engine.lab.scenario.scenario import QUEUES_MAX, Scenario
from engine.lab.scenario.scenario_names import DELAY_LEVEL_MAX, NODES_MAX, TIME_MAX_MS
from engine.lab.scenario.scenario_text import SCRIPT_MAX, TOPICS_MAX, parse_scenario
from engine.lab.scenario.scenario_yaml import TEXT_MAX_CHARACTERS
from engine.lab.scenario.traffic_spec import PROPERTIES_MAX, PROPERTY_NAME_MAX
from engine.protocol.enums import ConsumeFromWhere, ExpressionType, MessageModel
from engine.protocol.message.message_properties import (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_KEYS,
    PROPERTY_TAGS,
    RESERVED_PROPERTIES,
    split_keys,
)
from engine.protocol.names import is_dlq_topic, is_retry_topic
from engine.protocol.system_flags import TRANSACTION_COMMIT_TYPE, TRANSACTION_ROLLBACK_TYPE
from engine.texts import LANGUAGES, Text

if TYPE_CHECKING:
    from app.picture.session.film import RecordedFilm

#: The scenario's name, by which addresses and files name it.
NAME = "recorded"
#: When the first recorded frame passes: by then the cluster of the lab has started.
_BEGIN_MS = 1_000
#: A link of the lab, and how long before its first frame a client starts there.
_LATENCY_MS, _PRODUCER_LEAD_MS, _CONSUMER_LEAD_MS = 1, 100, 5
#: How long the scenario goes on after the last frame.
_REST_MS = 10_000
_KEY_MAX, _BODY_MAX, _ABOUT_MAX = 60, 4_000, 3_000
#: What all bodies may take of a scenario's text; the rest is for all else.
_BODIES_MAX = TEXT_MAX_CHARACTERS // 2
_USUAL_RETRIES = 16
_HELD_MS = 1_000
_FROM = {
    ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET: "first",
    ConsumeFromWhere.CONSUME_FROM_TIMESTAMP: "timestamp",
}
_WORDS = {
    TRANSACTION_COMMIT_TYPE: TransactionWord.COMMIT.value,
    TRANSACTION_ROLLBACK_TYPE: TransactionWord.ROLLBACK.value,
}
_RULE_DEFAULTS = {field.name: field.default for field in RULE_FIELDS}

_Fields = dict[str, Any]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class RecordedScenario:
    """A scenario, and what it does not have of the recording."""

    scenario: Scenario
    left_out: tuple[Text, ...]


def recorded_scenario(data: object, name: str) -> RecordedScenario:
    """Return the scenario of the content of a file of frames. ``name``: its title, if the file has none.

    Raises :class:`LabRefused`, as the file's reader does, and :class:`ScenarioError` or :class:`RecordingRefused`
    where the lab cannot have it.
    """
    return _Builder(read_frames(data)).scenario(name)


def recorded_film(data: object, name: str = "") -> RecordedFilm:
    """Return the film of the content of a file of frames, with its scenario if the lab can have it.

    ``name``: its title, if the file has none.

    Raises :class:`LabRefused`.
    """
    file = read_frames(data)
    film = frame_recording_view(file)
    if title := file.title or name:
        film["view"]["title"] = dict.fromkeys(LANGUAGES, title)
    if file.note:
        film["view"]["summary"] = dict.fromkeys(LANGUAGES, file.note)
    with suppress(ScenarioError, RecordingRefused):
        made = _Builder(file).scenario(name)
        run = Recording(made.scenario, made.scenario.seed, (), event=0, time_us=0, python=python_version())
        film["scenario"] = {
            "text": made.scenario.text,
            "run": json.dumps(run.to_dict(), ensure_ascii=False),
            "left_out": [{**text} for text in made.left_out],
        }
    return film


class _Builder:
    def __init__(self, file: RecordedFrames) -> None:
        self._file = file
        self._clients = RecordedClients(file)
        self._base_ms = self._clients.time_ms(file.frames[0]) - _BEGIN_MS
        messages = sum(len(producer.messages) for producer in self._clients.producers.values())
        self._body_max = min(_BODY_MAX, _BODIES_MAX // max(1, messages))
        #: Unique id -> key in the lab, and the keys that are taken.
        self._keys: dict[str, str] = {}
        self._taken: dict[str, None] = {}
        self._missing: Counter[str] = Counter()
        self._left_out: list[Text] = []

    def scenario(self, name: str) -> RecordedScenario:
        title = (self._file.title or name or NAME)[:200]
        clients = self._clients
        if (gone := self._file.frames[0].number - 1) > 0:
            self._left_out.append(Text("recorded.frames", n=gone))
        self._check_length()
        times = self._times()
        producers = {f"P{place}": one for place, one in enumerate(clients.producers.values(), 1)}
        consumers = {f"C{place}": one for place, one in enumerate(clients.consumers.values(), 1)}
        nodes: _Fields = {"N1": {"role": "name_server"}, "B1": {"role": "broker"}}
        nodes |= {name: self._producer(name, one, times) for name, one in producers.items()}
        nodes |= {name: self._consumer(one) for name, one in consumers.items()}
        script = [*self._script(times)]
        last_ms = max((*times.values(), self._ms(clients.time_ms(self._file.frames[-1]))))
        topics = {
            name: {"queues": min(most, QUEUES_MAX)}
            for name, most in clients.queues.items()
            if not (is_retry_topic(name) or is_dlq_topic(name))
        }
        whole = {
            "title": dict.fromkeys(LANGUAGES, title),
            "about": {},
            "seed": 1,
            "duration_ms": min(last_ms + _REST_MS, TIME_MAX_MS),
            "network": {"latency_ms": _LATENCY_MS},
            "nodes": dict(self._bounded([*nodes.items()], NODES_MAX, "nodes")),
            "topics": dict(self._bounded([*topics.items()], TOPICS_MAX, "topics")),
            "script": self._bounded(script, SCRIPT_MAX, "rules"),
        }
        self._report()
        left_out = {
            language: separator.join(text[language] for text in self._left_out)
            for language, separator in zip(LANGUAGES, ("; ", "；"), strict=True)
        }
        about = Text("recorded.about", title=title, left_out=_cut(left_out))
        whole["about"] = {language: about[language] for language in LANGUAGES}
        text = yaml.safe_dump(whole, sort_keys=False, allow_unicode=True, width=120, default_flow_style=None)
        return RecordedScenario(parse_scenario(text, NAME), tuple(self._left_out))

    def _check_length(self) -> None:
        """Refuse a recording that lasts longer than a run of the lab may."""
        lasts_ms = self._clients.time_ms(self._file.frames[-1]) - self._base_ms + _REST_MS
        if lasts_ms > TIME_MAX_MS:
            hours, limit = f"{lasts_ms / 3_600_000:.2f}", TIME_MAX_MS // 3_600_000
            raise RecordingRefused("recorded.too_long", hours=hours, limit=limit)

    def _bounded(self, found: list[_T], limit: int, what: str) -> list[_T]:
        """Return as many as the lab allows."""
        if len(found) > limit:
            self._left_out.append(Text("recorded.more", n=len(found) - limit, what=what, limit=limit))
        return found[:limit]

    def _ms(self, time_ms: float) -> int:
        return min(max(0, round(time_ms - self._base_ms)), TIME_MAX_MS)

    def _times(self) -> dict[str | int, int]:
        """Return when each message is sent, by its unique id, and each rule is made, by its place.

        They keep their order: what the broker got in the same millisecond is a millisecond apart, a rule two.
        """
        sent: list[tuple[float, str | int]] = [
            (message.at_ms, unique_id)
            for producer in self._clients.producers.values()
            for unique_id, message in producer.messages.items()
        ]
        frames = self._file.frames
        for place, rule in enumerate(self._file.rules):
            made_us = int(rule["made_ms"]) * 1_000
            following = next((one for one in frames if one.at_us >= made_us), frames[-1])
            sent.append((self._clients.ms_at(made_us, following.number), place))
        times: dict[str | int, int] = {}
        last_ms = 0
        for at_ms, one in sorted(sent, key=lambda entry: entry[0]):
            is_rule = isinstance(one, int)
            last_ms = max(self._ms(at_ms) - (0 if is_rule else _LATENCY_MS), last_ms + 1 + is_rule)
            times[one] = last_ms
        return times

    # --- producers ----------------------------------------------------------------------------------------------------

    def _producer(self, name: str, producer: RecordedProducer, times: Mapping[str | int, int]) -> _Fields:
        traffic = [
            self._traffic(name, unique_id, message, times[unique_id], is_half=producer.is_transactional)
            for unique_id, message in producer.messages.items()
        ]
        first_ms = min(one["start_ms"] for one in traffic)
        node = {"role": "producer", "group": producer.group, "start_ms": max(0, first_ms - _PRODUCER_LEAD_MS)}
        if producer.is_transactional:
            node["transaction"] = self._transaction(producer)
        return {**node, "traffic": self._bounded(traffic, TRAFFIC_MAX, f"messages ({name})")}

    def _traffic(self, name: str, unique_id: str, message: SentMessage, start_ms: int, *, is_half: bool) -> _Fields:
        properties = message.properties
        self._missing["batches"] += message.is_batched
        fields: _Fields = {
            "topic": message.topic,
            "count": 1,
            "start_ms": start_ms,
            "key": self._key(name, unique_id, split_keys(properties.get(PROPERTY_KEYS, ""))),
            "tag": properties.get(PROPERTY_TAGS, "")[:200],
            **self._body(message.body),
            "properties": dict(self._properties(properties)),
        }
        if not is_half:
            # A client does not choose another queue where it was given one: only messages sent once have theirs.
            fields["queue"] = message.queue_id if message.queue_id >= 0 and message.tries == 1 else "any"
            level = properties.get(PROPERTY_DELAY_TIME_LEVEL, "")
            fields["delay_level"] = min(int(level), DELAY_LEVEL_MAX) if level.isascii() and level.isdigit() else 0
            fields["mode"] = "oneway" if message.is_oneway else "sync"
        return {
            field: value
            for field, value in fields.items()
            if field == "body" or (field == "queue" and value == 0) or value not in ("", "any", "sync", 0, {})
        }

    def _key(self, name: str, unique_id: str, keys: Iterable[str]) -> str:
        """Return the key of a message in the lab, where a key names one message."""
        own = [key for key in keys if len(key) <= _KEY_MAX and key.isprintable() and not {*"{} "} & {*key}]
        if not own or own[0] in self._taken:
            self._missing["keys"] += 1
            own = [next(key for number in count(1) if (key := f"{name}-{number}") not in self._taken)]
        self._taken[own[0]] = None
        self._keys[unique_id] = own[0]
        return own[0]

    def _body(self, body: bytes) -> _Fields:
        try:
            text = body.decode()
        except UnicodeDecodeError:
            text = ""
        text = (
            "" if any(placeholder in text for placeholder in ("{n}", "{node}", "{order}")) else text[: self._body_max]
        )
        if text.encode() == body and text == text.strip():
            return {"body": text}
        self._missing["bodies"] += 1
        return {"body": text.strip(), "body_bytes": len(body)}

    def _properties(self, properties: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        own = [(name, value) for name, value in properties.items() if name not in RESERVED_PROPERTIES]
        for place, (name, value) in enumerate(own):
            is_fine = 0 < len(value) <= 200 and len(name) <= PROPERTY_NAME_MAX and "{" not in value
            if is_fine and name.isprintable() and value.isprintable() and place < PROPERTIES_MAX:
                yield name, value
            else:
                self._missing["properties"] += 1

    def _transaction(self, producer: RecordedProducer) -> _Fields:
        unknown = TransactionWord.UNKNOWN.value
        words = {one: _WORDS.get(producer.outcomes.get(one, 0), unknown) for one in producer.messages}
        self._missing["undecided"] += sum(one not in producer.outcomes for one in producer.messages)
        usual = next(iter(words.values()))
        checks = [[_WORDS.get(answer, unknown) for answer in answers] for answers in producer.checks.values()]
        self._missing["checks"] += sum(answers != checks[0] for answers in checks)
        fields: _Fields = {"executes": usual}
        if others := {self._keys[one]: word for one, word in words.items() if word != usual}:
            fields["outcomes"] = others
        if producer.local_ms:
            fields["duration_ms"] = max(0, round(min(producer.local_ms)))
        if checks:
            fields["checks"] = ", ".join(checks[0])
        return fields

    # --- consumers ----------------------------------------------------------------------------------------------------

    def _consumer(self, consumer: RecordedConsumer) -> _Fields:
        data = consumer.data
        wanted = [one for one in data.subscriptions if not is_retry_topic(one.topic)] or [*data.subscriptions]
        if len(wanted) > 1:
            more = ", ".join(one.topic for one in wanted[1:])
            self._left_out.append(Text("recorded.topics", client=consumer.client, group=data.group_name, topics=more))
        one = wanted[0]
        self._clients.queues.setdefault(one.topic, 4)
        node: _Fields = {
            "role": "consumer",
            "group": data.group_name,
            "topic": one.topic,
            "start_ms": max(0, self._ms(consumer.since_ms) - _CONSUMER_LEAD_MS),
            "from": _FROM.get(data.consume_from_where, "last"),
        }
        if one.expression_type == ExpressionType.SQL92:
            node["sql"] = one.sub_string
        elif one.sub_string not in ("", "*"):
            node["expression"] = one.sub_string
        if consumer.until_ms is not None:
            node["stop_ms"] = self._ms(consumer.until_ms)
        if data.message_model is MessageModel.BROADCASTING:
            node["model"] = "broadcasting"
        if consumer.is_orderly:
            self._missing["orderly"] += 1
            return {**node, "orderly": True}
        if (most := consumer.max_reconsume_times) not in (None, -1, _USUAL_RETRIES):
            node["settings"] = {"maxReconsumeTimes": most}
        return {**node, **self._listener(consumer)}

    def _listener(self, consumer: RecordedConsumer) -> _Fields:
        failures = self._clients.failures.get(consumer.data.group_name, {})
        by_key = {self._keys[one]: len(offsets) for one, offsets in failures.items() if one in self._keys}
        self._missing["failures"] += sum(len(offsets) for one, offsets in failures.items() if one not in self._keys)
        if not by_key:
            return {}
        level = {"delay_level": consumer.delay_level} if consumer.delay_level else {}
        return {"listener": {"result": "later", "fails_first": 0, "fails_by_key": by_key, **level}}

    # --- faults -------------------------------------------------------------------------------------------------------

    def _script(self, times: Mapping[str | int, int]) -> Iterator[_Fields]:
        for place, rule in enumerate(self._file.rules):
            fields = {name: rule[name] for name, usual in _RULE_DEFAULTS.items() if rule[name] != usual}
            if fields.pop("client", None):
                self._missing["rule_clients"] += 1
            what = rule["what"]
            if what == FaultAction.HOLD:
                self._missing["held"] += 1
                what, fields["ms"] = FaultAction.DELAY.value, self._held_ms(rule)
            line = {"at_ms": times[place], "kind": "fault", "target": "B1", "what": what, "frame": rule["frame"]}
            # As often as it was hit: in the test it ended with its block.
            yield {**line, **fields, "times": rule["hits"]}

    def _held_ms(self, rule: Mapping[str, Any]) -> int:
        """Return how long the first frame that was held had to wait, if its reply shows it."""
        frames = self._file.frames
        held = next(
            (one for one in frames if one.action == FaultAction.HOLD and one.at_us >= rule["made_ms"] * 1_000), None
        )
        reply = next((one for one in frames if held is not None and one.answers == held.number), None)
        return _HELD_MS if held is None or reply is None else max(1, (reply.at_us - held.at_us) // 1_000)

    # --- what is missing ----------------------------------------------------------------------------------------------

    def _report(self) -> None:
        clients, states = self._clients, self._file.states
        if not self._file.rules:
            self._missing["rules"] = sum(bool(frame.action) for frame in self._file.frames)
        for name in (
            "batches",
            "checks",
            "failures",
            "held",
            "keys",
            "properties",
            "rule_clients",
            "rules",
            "undecided",
        ):
            if self._missing[name]:
                self._left_out.append(Text(f"recorded.{name}", n=self._missing[name]))
        if self._missing["bodies"]:
            self._left_out.append(Text("recorded.bodies", n=self._missing["bodies"], limit=self._body_max))
        if self._missing["orderly"]:
            self._left_out.append(Text("recorded.orderly"))
        if any(part == "broker" and values and not values[0] for _, part, _, values in states):
            self._left_out.append(Text("recorded.crash"))
        for key, names in (("requests", clients.others), ("silent", clients.silent)):
            if names:
                self._left_out.append(Text(f"recorded.{key}", names=", ".join(names)))
        if clients.consumers:
            self._left_out.append(Text("recorded.durations"))
        self._left_out.append(Text("recorded.settings"))


def _cut(texts: Mapping[str, str]) -> dict[str, str]:
    return {
        language: text if len(text) <= _ABOUT_MAX else f"{text[:_ABOUT_MAX]} ..." for language, text in texts.items()
    }
