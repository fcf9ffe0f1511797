"""Every step at which the search may hold or crash a client can be explained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.lab.explorer.captions import caption_of, step_name
from engine.lab.explorer.stall import FOR_EVER_MS, Stall, StallKind, StepPoint
from engine.lab.explorer.step_texts import STEPS

ENGINE = Path(__file__).parents[4] / "engine"
STEP = re.compile(r'await (?:step\(|self\._next\(key, xid, )"([^"]+)"')
#: Labels of steps, by the file of a client in which they stand. Broadcasting keeps its progress on its own disk: nobody
#: else can have a hand in that.
LABELS = {
    str(path.relative_to(ENGINE)): labels
    for folder in ("client", "bank", "xa")
    for path in sorted((ENGINE / folder).rglob("*.py"))
    if path.name != "local_file_offset_store.py" and (labels := STEP.findall(path.read_text(encoding="utf-8")))
}


def test_clients_have_steps_in_several_files() -> None:
    assert len(LABELS) > 10


@pytest.mark.parametrize("name", LABELS)
def test_every_step_of_a_client_has_a_line_in_the_table(name: str) -> None:
    assert [label for label in LABELS[name] if label not in STEPS] == []


def test_a_caption_says_who_where_and_for_how_long() -> None:
    point = StepPoint("C1/worker-0", "calls the listener", 2)
    caption = caption_of(Stall(point, 1_500))
    assert caption["en"].startswith("C1/worker-0 is held for 1.5 s, just before it «calls the listener». ")
    assert caption["zh"].startswith("C1/worker-0 停顿 1.5 s，就在“调用监听器”之前。")
    paused = caption_of(Stall(point, 20, kind=StallKind.PAUSE))
    assert paused["en"].startswith("The C1 process is paused for 20 ms, just before C1/worker-0 «calls")


def test_a_step_that_nobody_knows_is_named_as_it_is() -> None:
    assert step_name("does something new") == {"en": "does something new", "zh": "does something new"}


def test_a_caption_of_a_crash_says_who_dies_where_and_when_it_starts_again() -> None:
    point = StepPoint("P1/sends Payments", "ends the transaction", 1)
    caption = caption_of(Stall(point, 2_000, StallKind.CRASH))
    assert caption["en"].startswith(
        "P1 dies here, just before P1/sends Payments «ends the transaction», and restarts 2 s later. "
    )
    assert caption["zh"].startswith("P1 在这里被杀死，就在 P1/sends Payments“结束事务”之前，2 s 后重新启动。")
    for_ever = caption_of(Stall(point, FOR_EVER_MS, StallKind.CRASH))
    assert "and never restarts. The local transaction has ended" in for_ever["en"]
