"""``listener:`` in the text of a scenario."""

from __future__ import annotations

import dataclasses

from engine.lab.listener_spec import ListenerResult, ListenerSpec
from engine.lab.scenario_names import TIME_MAX_MS
from engine.lab.scenario_yaml import Section

#: What only an orderly listener can return.
_ORDERLY_RESULTS = (ListenerResult.SUSPEND, ListenerResult.COMMIT, ListenerResult.ROLLBACK)


def parse_listener(section: Section | None, *, orderly: bool) -> ListenerSpec:
    """How a listener behaves; without a section it takes 10 ms and succeeds."""
    if section is None:
        return ListenerSpec()
    results = [result.value for result in ListenerResult if orderly or result not in _ORDERLY_RESULTS]
    listener = ListenerSpec(
        duration_ms=section.integer("duration_ms", 0, TIME_MAX_MS, 10),
        result=ListenerResult(section.choice("result", results, "success")),
        fails_first=section.optional_integer("fails_first", 0, 1_000),
        only_keys=section.words("only_keys", max_count=100),
    )
    if orderly:
        listener = dataclasses.replace(
            listener,
            commit_every=section.optional_integer("commit_every", 1, 1_000),
            suspend_ms=section.optional_integer("suspend_ms", 0, TIME_MAX_MS),
        )
    section.finish(("delay_level", "ack_index"))
    return listener
