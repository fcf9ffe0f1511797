"""``listener:`` in the text of a scenario."""

from __future__ import annotations

import dataclasses

from engine.lab.scenario.listener_spec import HAND_OVER_MAX, BatchAck, ListenerResult, ListenerSpec, MoveAsideSpec
from engine.lab.scenario.scenario_names import DELAY_LEVEL_MAX, MESSAGES_MAX, TIME_MAX_MS, parse_topic
from engine.lab.scenario.scenario_yaml import Section

#: What only an orderly listener can return.
_ORDERLY_RESULTS = (ListenerResult.SUSPEND, ListenerResult.COMMIT, ListenerResult.ROLLBACK)


def parse_listener(section: Section, *, orderly: bool) -> ListenerSpec:
    """How a listener behaves."""
    results = [result.value for result in ListenerResult if orderly or result not in _ORDERLY_RESULTS]
    listener = ListenerSpec(
        duration_ms=section.integer("duration_ms", 0, TIME_MAX_MS, 10),
        result=ListenerResult(section.choice("result", results, "success")),
        fails_first=section.optional_integer("fails_first", 0, 1_000),
        only_keys=section.words("only_keys", max_count=100),
        each_ms=section.integer("each_ms", 0, TIME_MAX_MS, 0),
        batch_ack=section.word("batch_ack", BatchAck.WHOLE),
    )
    if orderly and listener.batch_ack is BatchAck.PER_MESSAGE:
        raise section.fail("batch_ack", "per-message is not allowed with orderly: its context has no ackIndex")
    if orderly:
        listener = dataclasses.replace(
            listener,
            commit_every=section.optional_integer("commit_every", 1, 1_000),
            suspend_ms=section.optional_integer("suspend_ms", 0, TIME_MAX_MS),
        )
    else:
        listener = dataclasses.replace(
            listener,
            ack_index=section.optional_integer("ack_index", -1, 1_023),
            delay_level=section.integer("delay_level", -1, DELAY_LEVEL_MAX, 0),
        )
        if listener.ack_index is not None and listener.batch_ack is not BatchAck.WHOLE:
            raise section.fail("ack_index", f"is not allowed beside batch_ack: {listener.batch_ack}, which sets it")
    return dataclasses.replace(
        listener,
        hand_over=section.switch("hand_over", default=False),
        hand_over_ms=section.integer("hand_over_ms", 0, TIME_MAX_MS, listener.hand_over_ms),
        hand_over_max=section.integer("hand_over_max", 1, HAND_OVER_MAX, HAND_OVER_MAX),
        move_aside=section.part("move_aside", _move_aside),
        reply=section.text("reply", "", max_length=4_000),
    )


def _move_aside(section: Section) -> MoveAsideSpec:
    spec = MoveAsideSpec(
        topic=parse_topic(section),
        only_tags=section.words("only_tags", max_count=20),
        above=section.integer("above", 0, MESSAGES_MAX, 100),
    )
    if not spec.only_tags:
        raise section.fail("only_tags", "is missing: which messages may be moved aside?")
    return spec
