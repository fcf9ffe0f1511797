"""What would run next, and at which line."""

from __future__ import annotations

import linecache
from pathlib import Path

from engine.lab.run.run import LabRun
from engine.lab.world.next_step import _compiled_method, next_step
from tests.support.lab.lab_scenarios import apply, run_to_ms, small

PROJECT = Path(__file__).resolve().parent.parent.parent.parent.parent


def test_the_next_step_tells_what_then_happens():
    with LabRun(small()) as run:
        for _ in range(600):
            reported = next_step(run.world)
            assert reported is not None
            assert run.step()
            entry = run.world.lab.journal.entries[-1]
            assert (reported.actor, reported.due_us) == (entry.actor, entry.time_us)
            assert reported.node in run.world.nodes or reported.node == "world"


def test_a_step_of_the_client_names_the_line_of_its_step_point():
    with LabRun(small()) as run:
        run_to_ms(run, 400)
        seen: dict[str, str] = {}
        while run.now_us < 2_000_000:
            reported = next_step(run.world)
            assert reported is not None
            if reported.file:
                line = linecache.getline(str(PROJECT / reported.file), reported.line)
                seen[reported.label] = f"{reported.file}: {line.strip()}"
            run.step()
        assert seen["updates the offset"] == (
            'engine/client/consumer/consume_message_concurrently_service.py: await step("updates the offset")'
        )
        assert seen["takes a pull request"].startswith("engine/client/queues/pull_message_service.py: ")
        assert all(place.startswith("engine/") for place in seen.values())


def test_looking_changes_nothing_and_held_or_paused_events_are_not_next():
    with LabRun(small()) as looked, LabRun(small()) as plain:
        for run in (looked, plain):
            run_to_ms(run, 700)
            apply(run, "pause-node", "P1")
            apply(run, "hold", "C1/pull message service", ms=60_000)
        for _ in range(200):
            reported = next_step(looked.world)
            assert reported is not None
            assert reported.node != "P1"
            assert reported.actor != "C1/pull message service"
            looked.step()
            plain.step()
        assert looked.journal_hash == plain.journal_hash


def test_there_is_no_next_step_after_the_end():
    with LabRun(small()) as run:
        run.run_events(100_000)
        assert next_step(run.world) is None


def test_a_compiled_method_has_its_place_in_the_source():
    file, line, function = _compiled_method("engine.store.services.message_dispatcher", "MessageDispatcher", "drain")
    assert (file, function) == ("engine/store/services/message_dispatcher.py", "MessageDispatcher.drain")
    assert linecache.getline(str(PROJECT / file), line).strip() == "def drain(self) -> None:"
    assert _compiled_method("builtins", "list", "append") == ("", 0, "")
