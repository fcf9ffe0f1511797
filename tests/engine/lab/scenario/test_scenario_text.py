"""The text of a scenario: what it makes, and the error for every kind of mistake."""

from __future__ import annotations

import pytest

from engine.lab.scenario.condition import Condition, ConditionKind
from engine.lab.scenario.errors import ScenarioError
from engine.lab.scenario.kinds.broker import BrokerSpec
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.kinds.name_server import NameServerSpec
from engine.lab.scenario.kinds.producer import ProducerSpec
from engine.lab.scenario.listener_spec import ListenerResult, ListenerSpec
from engine.lab.scenario.scenario import Command, FaultKind
from engine.lab.scenario.scenario_files import load_scenario, preset_scenario_names, scenario_names
from engine.lab.scenario.scenario_text import parse_scenario
from tests.support.lab.lab_scenarios import small, small_text


def line_of(text: str, word: str) -> int:
    """Number of the first line with ``word``."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if word in line)


# ------------------------------------------------------------------------------------------------- what it makes


def test_a_scenario_has_what_its_text_says():
    scenario = small()
    assert (scenario.name, scenario.seed, scenario.duration_ms) == ("small", 1, 30_000)
    assert scenario.title == {"en": "Small", "zh": "小"}
    assert [(node.name, type(node)) for node in scenario.nodes] == [
        ("N1", NameServerSpec),
        ("B1", BrokerSpec),
        ("P1", ProducerSpec),
        ("C1", ConsumerSpec),
    ]
    traffic = scenario.spec_of(ProducerSpec, "P1").traffic[0]
    assert (traffic.topic, traffic.count, traffic.key, traffic.tags) == ("T", 20, "k-{n}", ("a", "b"))
    assert scenario.spec_of(ConsumerSpec, "C1").listener == ListenerSpec(duration_ms=20)
    assert scenario.node("B1").settings == {"message_delay_level": "1s 1s 1s 1s"}
    assert scenario.topics[0].queues == 4
    assert scenario.groups[0].retry_max_times == 3


def test_what_a_list_shows_of_a_scenario_is_read():
    scenario = small(
        extra="""\
summary: {en: A small world, zh: 一个小世界}
tags: {difficulty: hard, breaks: [lock, link, lock]}
key_moment:
  do: [{at_ms: 100, kind: lock-switch, target: B1, lock: broker-lock, on: false}]
  from_ms: 200
  until: {on: violation}
  plus_ms: 0.5
  shows: {en: Two at once, zh: 同时两个}
"""
    )
    assert scenario.summary == {"en": "A small world", "zh": "一个小世界"}
    assert (scenario.tags.difficulty, scenario.tags.breaks) == ("hard", ("lock", "link"))
    moment = scenario.key_moment
    assert moment.shows == {"en": "Two at once", "zh": "同时两个"}
    assert [line.command.kind for line in moment.actions] == ["lock-switch"]
    assert (moment.from_ms, moment.until, moment.plus_ms) == (200, None, 0.5)
    assert (small().summary, small().key_moment, small().tags.breaks) == ({}, None, ())


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (f"summary: {{en: {'word ' * 13}, zh: 短}}", "has 13 English words; allowed: 12"),
        (f"summary: {{en: short, zh: {'长' * 27}}}", "has 27 Chinese characters; allowed: 26"),
        ("tags: {difficulty: fiendish}", "allowed: easy, medium, hard"),
        ("tags: {breaks: [glass]}", "allowed: process, power, disk, link, pause, listener, lock"),
        ("key_moment: {shows: {en: a, zh: 甲}}", "key_moment.until: is missing"),
        ("key_moment: {until: {on: doom}, shows: {en: a, zh: 甲}}", "command, time, violation"),
        ("key_moment: {until: {on: violation, node: B1}, shows: {en: a, zh: 甲}}", "is not allowed here"),
        ("key_moment: {until: {on: violation}}", "key_moment.shows: is missing"),
    ],
)
def test_a_wrong_card_of_a_scenario_is_refused_with_what_is_allowed(extra, said):
    with pytest.raises(ScenarioError) as caught:
        small(extra=f"{extra}\n")
    assert said in str(caught.value)


def test_breakpoints_script_and_fault_model_are_read():
    scenario = small(
        extra="""\
breakpoints: [{on: label, node: C1, contains: offset}, {on: time, time_ms: 2.5}]
faults: {kinds: [crash, delay, crash], max: 2}
invariants: [log-and-queues-agree]
script:
  - {at_ms: 100, kind: partition, left: [P1], right: [B1], one_way: true}
  - {at_ms: 200, kind: add-consumer, target: C9, like: C1}
  - {at_ms: 300, kind: kill-consumer, target: C9}
"""
    )
    first, second = scenario.breakpoints
    assert (first.on, first.node, first.contains) == (ConditionKind.LABEL, "C1", "offset")
    assert (second.on, second.time_us) == (ConditionKind.TIME, 2_500)
    assert scenario.fault_model.kinds == (FaultKind.CRASH, FaultKind.DELAY)
    assert scenario.fault_model.max_faults == 2
    assert scenario.invariants == ("log-and-queues-agree",)
    assert [line.at_ms for line in scenario.script] == [100, 200, 300]
    assert scenario.script[0].command.value == {"left": ("P1",), "right": ("B1",), "one_way": True}


def test_single_keys_have_outcomes_and_failures_of_their_own():
    scenario = small(('key: "k-{n}"', "key: only"), ("count: 20", "count: 1"))
    assert scenario.spec_of(ProducerSpec, "P1").traffic[0].key == "only"
    spec = ListenerSpec(fails_first=0, fails_by_key=(("k-7", 2),))
    results = [spec.result_of(key, times).value for key, times in (("k-7", 1), ("k-7", 2), ("k-8", 0))]
    assert results == ["later", "success", "success"]


def test_a_listener_fails_so_many_deliveries_of_each_matching_message():
    spec = ListenerSpec(fails_first=2, only_keys=("k-7",))
    assert [spec.result_of("k-7", times) for times in range(3)] == [
        ListenerResult.LATER,
        ListenerResult.LATER,
        ListenerResult.SUCCESS,
    ]
    assert spec.result_of("k-8", 0) is ListenerResult.SUCCESS
    assert ListenerSpec(result=ListenerResult.THROWS, fails_first=1).result_of("k", 0) is ListenerResult.THROWS
    assert ListenerSpec(result=ListenerResult.LATER).result_of("k", 99) is ListenerResult.LATER


def test_words_are_taken_as_they_stand_and_not_as_yaml_guesses():
    scenario = small(("group: g\n", "group: off\n"), ("  g: {", "  off: {"), ('body: "body {n}"', "body: yes"))
    assert scenario.spec_of(ConsumerSpec, "C1").group == "off"
    assert scenario.groups[0].name == "off"
    assert scenario.spec_of(ProducerSpec, "P1").traffic[0].body == "yes"


@pytest.mark.parametrize("name", scenario_names())
def test_every_scenario_that_comes_along_is_read_and_speaks_both_languages(name):
    scenario = load_scenario(name)
    assert scenario.name == name
    for texts in (scenario.title, scenario.about):
        assert texts["en"].isascii()
        assert any("\u4e00" <= character <= "\u9fff" for character in texts["zh"])


@pytest.mark.parametrize("name", preset_scenario_names())
def test_every_preset_has_its_place_in_the_list_and_suggests_what_to_try(name):
    scenario = load_scenario(name)
    assert scenario.suggestion["en"]
    assert any("\u4e00" <= character <= "\u9fff" for character in scenario.suggestion["zh"])
    others = [load_scenario(other).order for other in preset_scenario_names() if other != name]
    assert scenario.order not in others


def test_a_scenario_needs_neither_a_place_nor_a_suggestion():
    assert small().order == 1_000
    assert small().suggestion == {}
    assert small(extra="order: 7\ntry: {en: this, zh: 这个}\n").order == 7


def test_no_space_of_a_folded_line_is_left_between_chinese_characters():
    scenario = small(extra="try: {en: one two, zh: '一条， 两条 three 三 条'}\n")
    assert scenario.suggestion == {"en": "one two", "zh": "一条，两条 three 三条"}


def test_a_suggestion_has_buttons_that_command_run_or_search():
    text = """
try:
  en: this
  zh: 这个
  buttons:
    - label: {en: Kill it, zh: 杀掉}
      command: {kind: crash, target: B1}
      run_until: {on: sent, node: P1}
    - label: {en: Search, zh: 搜索}
      search: true
focus: [locks, trees, locks]
"""
    scenario = small(extra=text)
    kill, search = scenario.try_buttons
    assert (kill.command, kill.run_until) == (Command("crash", "B1"), Condition(ConditionKind.SENT, "P1"))
    assert search.search
    assert search.label == {"en": "Search", "zh": "搜索"}
    assert scenario.focus == ("locks", "trees")


@pytest.mark.parametrize(
    ("extra", "field", "part"),
    [
        ("focus: [clocks]", "focus", "'clocks' is not allowed; allowed: trees, locks"),
        ("try: {en: a, zh: 一, buttons: [{label: {en: a, zh: 一}}]}", "try.buttons[0].label", "does nothing"),
        ("try: {en: a, zh: 一, buttons: [{search: true}]}", "try.buttons[0].label", "missing"),
        (
            "try: {en: a, zh: 一, buttons: [{label: {en: a, zh: 一}, command: {kind: crash, target: X}}]}",
            "try.buttons[0].command.target",
            "'X' is not allowed",
        ),
    ],
)
def test_a_button_or_focus_that_means_nothing_is_refused(extra, field, part):
    with pytest.raises(ScenarioError) as error:
        small(extra=extra + "\n")
    assert error.value.field == field
    assert part in str(error.value)


# ------------------------------------------------------------------------------------------------ what is refused

#: (what is replaced, by what, the line in which the mistake stands, the field, words of the message)
MISTAKES = [
    ("seed: 1", "seed: one", "seed", "seed", ["'one'", "an integer from 0"]),
    ("seed: 1", "seed: -1", "seed", "seed", ["'-1'"]),
    ("seed: 1", "seed: 1.5", "seed", "seed", ["'1.5'"]),
    ("seed: 1", "sead: 1", "sead", "sead", ["is not allowed here", "seed", "duration_ms"]),
    ("duration_ms: 30000", "duration_ms: 0", "duration_ms", "duration_ms", ["'0'", "1 to 86400000"]),
    ("latency_ms: 2", "latency_ms: 0", "network", "network.latency_ms", ["'0'", "0.01"]),
    ("jitter_ms: 1", "jitter_ms: a", "network", "network.jitter_ms", ["'a'"]),
    ("jitter_ms: 1", "loss: 1", "network", "network.loss", ["latency_ms, jitter_ms"]),
    ("title: {en: Small, zh: 小}", "title: {en: Small}", "title", "title.zh", ["missing"]),
    ("title: {en: Small, zh: 小}", "title: {en: Small, zh: 小, fr: x}", "title", "title.fr", ["en, zh"]),
    ("title: {en: Small, zh: 小}", "title: Small", "title", "title", ["mapping"]),
    ("role: name_server", "role: nameserver", "N1", "nodes.N1.role", ["'nameserver'", "broker, name_server"]),
    ("  N1: {role: name_server}", "  N1:", "N1", "nodes.N1", ["empty"]),
    ("  N1: {role: name_server}", "  N.1: {role: name_server}", "N.1", "nodes.N.1", ["not a valid name for a node"]),
    ("  N1: {role: name_server}\n", "", "nodes", "nodes", ["0 nodes with role name_server", "exactly 1"]),
    ("  N1: {", "  N0: {role: name_server}\n  N1: {", "nodes", "nodes", ["2 nodes with role name_server"]),
    ("    role: broker", "    role: broker\n    flush: later", "flush", "nodes.B1.flush", ["async, sync"]),
    ("    role: broker", "    role: broker\n    disk: {ms: 1}", "disk", "nodes.B1.disk.ms", ["fsync_ms"]),
    ("    role: broker", "    role: broker\n    disk: {cache_pages: 7}", "disk", "nodes.B1.disk.cache_pages", ["8 to"]),
    ("    role: broker", "    role: broker\n    disk: {seek_us: 1}", "disk", "nodes.B1.disk.seek_us", ["cache_pages"]),
    ("    role: broker", "    role: broker\n    master: B2", "master", "nodes.B1.master", ["not supported by this"]),
    ("messageDelayLevel", "messageDelayLevels", "Delay", "nodes.B1.settings.messageDelayLevels", ["delay_level"]),
    ('"1s 1s 1s 1s"', "1x", "messageDelay", "nodes.B1.settings", ["'1x'"]),
    ('"1s 1s 1s 1s"', "5", "messageDelay", "nodes.B1.settings.messageDelayLevel", ["a text of 0 to 200"]),
    ("messageDelayLevel: ", "port: 1, messageDelayLevel: ", "port", "nodes.B1.settings.port", ["no setting"]),
    ("    group: senders\n", "", "P1", "nodes.P1.group", ["missing"]),
    ("group: senders", "group: a b", "group: a b", "nodes.P1.group", ["a b"]),
    ("group: senders", "group: senders\n    acl: x", "acl", "nodes.P1.acl", ["not supp"]),
    ("group: senders", "group: senders\n    transaction: x", "transac", "nodes.P1.transaction", ["mapping"]),
    ("group: senders", "group: senders\n    transaction: {on: 1}", "transac", "nodes.P1.transaction.on", ["executes"]),
    ("group: senders", "group: senders\n    transaction: {executes: 'commit, looked-up'}", "transac",
     "nodes.P1.transaction.executes", ["'looked-up'", "commit, rollback, unknown, throws"]),
    ("group: senders", "group: senders\n    transaction: {checks: maybe}", "transac",
     "nodes.P1.transaction.checks", ["'maybe'", "throws, looked-up"]),
    ("    traffic: {topic: T,", "    transaction: {}\n    traffic: {queue: 1, topic: T,",
     "traffic", "nodes.P1.traffic.queue", ["transactional message"]),
    ("    traffic: {topic: T,", "    transaction: {}\n    traffic: {delay_level: 1, topic: T,",
     "traffic", "nodes.P1.traffic.delay_level", ["cannot be delayed"]),
    ("topic: T, count", "topic: 'a/b', count", "traffic", "nodes.P1.traffic.topic", ["a/b"]),
    ("count: 20", "count: 10001", "traffic", "nodes.P1.traffic.count", ["'10001'", "10000"]),
    ("every_ms: 100", "every_ms: -1", "traffic", "nodes.P1.traffic.every_ms", ["'-1'"]),
    ('key: "k-{n}"', "key: k", "traffic", "nodes.P1.traffic.key", ["'k'", "{n}"]),
    ('key: "k-{n}"', 'key: "k-{n}", queue: all', "traffic", "nodes.P1.traffic.queue", ["'all'", "any"]),
    ('key: "k-{n}"', 'key: "k-{n}", delay_level: 19', "traffic", "nodes.P1.traffic.delay_level", ["0 to 18"]),
    ('key: "k-{n}"', 'key: "k-{n}", size: 1', "traffic", "nodes.P1.traffic.size", ["topic, count"]),
    ("    topic: T\n", "", "C1", "nodes.C1.topic", ["missing"]),
    ("    topic: T\n", "    topic: T\n    model: orderly\n", "model", "nodes.C1.model", ["clustering, broadcasting"]),
    ("    topic: T\n", "    topic: T\n    from: now\n", "from", "nodes.C1.from", ["first, last"]),
    ("    topic: T\n", "    topic: T\n    threads: 0\n", "threads", "nodes.C1.threads", ["1 to 64"]),
    ("    topic: T\n", "    topic: T\n    orderly: maybe\n", "orderly", "nodes.C1.orderly", ["true or false"]),
    ("duration_ms: 20}", "result: commit}", "listen", "nodes.C1.listener.result", ["'commit'", "success, later"]),
    ("duration_ms: 20}", "commit_every: 2}", "listen", "nodes.C1.listener.commit_every", ["not allowed here"]),
    ('key: "k-{n}"', 'key: "k-{order}", orders: 2', "traffic", "nodes.P1.traffic.key", ["{n}"]),
    ('key: "k-{n}"', 'key: "k-{n}", orders: x', "traffic", "nodes.P1.traffic.orders", ["'x'"]),
    ("    topic: T\n", "    topic: T\n    expression: '||'\n", "expression", "nodes.C1.expression", []),
    ("    topic: T\n", "    topic: T\n    stop_ms: soon\n", "stop_ms", "nodes.C1.stop_ms", ["'soon'"]),
    ("duration_ms: 20}", "result: maybe}", "listen", "nodes.C1.listener.result", ["'maybe'", "success, later, throws"]),
    ("duration_ms: 20}", "duration_ms: [1]}", "listener", "nodes.C1.listener.duration_ms", ["allowed: an integer"]),
    ("duration_ms: 20}", "only_keys: a}", "listener", "nodes.C1.listener.only_keys", ["list"]),
    ("duration_ms: 20}", "fails_first: x}", "listener", "nodes.C1.listener.fails_first", ["'x'"]),
    ("queues: 4", "queues: 65", "queues", "topics.T.queues", ["1 to 64"]),
    ("  T: {queues", "  'a b': {queues", "a b", "topics.a b", ["a b"]),
    ("retry_max_times: 3", "retry_max_times: x", "retry_max", "groups.g.retry_max_times", ["'x'"]),
    ("retry_max_times: 3", "retries: 3", "retries", "groups.g.retries", ["retry_max_times, retry_queues"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "word", "field", "parts"), MISTAKES, ids=[m[3] + "=" + m[1][:12] for m in MISTAKES]
)
def test_a_mistake_is_named_with_its_line_its_field_and_what_is_allowed(old, new, word, field, parts):
    text = small_text((old, new))
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, "small")
    error = caught.value
    assert error.field == field
    allowed_lines = {line_of(text, word), line_of(text, word) + 1}
    assert error.line in allowed_lines
    assert str(error).startswith(f"line {error.line}, {field}: ")
    for part in parts:
        assert part in error.message


EXTRA_MISTAKES = [
    ("breakpoints: [{on: moon}]", "breakpoints[0].on", "label, frame"),
    ("breakpoints: [{on: label, node: X}]", "breakpoints[0].node", "N1, B1, P1, C1"),
    ("breakpoints: [{on: time}]", "breakpoints[0].time_ms", "missing"),
    ("breakpoints: [{on: label, at: 1}]", "breakpoints[0].at", "on, node, contains, time_ms"),
    ("faults: {kinds: [fire]}", "faults.kinds", "crash, crash-power, pause"),
    ("faults: {max: 101}", "faults.max", "0 to 100"),
    ("script: [{kind: crash, target: B1}]", "script[0].at_ms", "missing"),
    ("script: [{at_ms: 1, kind: explode}]", "script[0].kind", "crash, crash-power"),
    ("script: [{at_ms: 1, kind: crash, target: X}]", "script[0].target", "N1, B1, P1, C1"),
    ("script: [{at_ms: 1, kind: link-loss, target: 'P1->B1', ratio: 2}]", "script[0].kind", "from 0 to 1"),
    ("script: [{at_ms: 1, kind: heal, what: all}]", "script[0].kind", "heal.what: is not allowed here"),
    ("invariants: 5", "invariants", "list"),
    ("order: first", "order", "integer"),
    ("try: {en: this}", "try.zh", "missing"),
    ("replication: {}", "replication", "not supported by this version"),
    ("seed: 2", "seed", "twice"),
]


@pytest.mark.parametrize(("extra", "field", "part"), EXTRA_MISTAKES)
def test_a_mistake_in_an_optional_part_is_named(extra, field, part):
    with pytest.raises(ScenarioError) as caught:
        small(extra=extra + "\n")
    assert caught.value.field == field
    assert part in caught.value.message


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "empty"),
        ("[1, 2]", "mapping"),
        ("a: [", "not YAML"),
        ("a: &x 1\nb: *x", "anchors"),
        ("a: 1\n---\nb: 1", "second document"),
        ("a: " + "[" * 40 + "]" * 40, "nested deeper"),
        ("a: \x00", "not YAML"),
        ("a: \ud800", "not YAML"),
        ("a: [" + "1," * 15_000 + "]", "more than 10000 names and values"),
        ("? [a]\n: 1", "single word"),
        ("x" * 40_001, "40001 characters"),
        ("title: !!python/object/apply:os.system [ls]", "tags (!)"),
    ],
)
def test_a_text_that_is_no_scenario_at_all_is_refused(text, part):
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, "x")
    assert part in str(caught.value)
    assert caught.value.line >= 1


def test_two_producers_may_not_give_the_same_keys():
    second = ("  C1:\n", "  P2: {role: producer, group: s, traffic: {topic: T, key: 'k-{n}'}}\n  C1:\n")
    with pytest.raises(ScenarioError, match=r"same keys as that of P1; .* put \{node\} into it"):
        small(second)
    assert small((second[0], second[1].replace("k-{n}", "{node}-{n}"))).spec_of(ProducerSpec, "P2").traffic
