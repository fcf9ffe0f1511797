"""Every step at which the search may hold an orderly consumer can be explained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.lab.explorer.captions import STEPS, caption_of, step_name
from engine.lab.explorer.stall import Stall, StepPoint

CLIENT = Path(__file__).parents[4] / "engine" / "client"
#: Where an orderly consumer's steps stand.
FILES = (
    "consume_message_orderly_service.py",
    "default_mq_push_consumer_impl.py",
    "pull_message_service.py",
    "rebalance_impl.py",
    "rebalance_push_impl.py",
    "remote_broker_offset_store.py",
)
STEP = re.compile(r'await step\("([^"]+)"\)')


@pytest.mark.parametrize("name", FILES)
def test_every_step_of_an_orderly_consumer_has_a_line_in_the_table(name: str) -> None:
    labels = STEP.findall((CLIENT / name).read_text(encoding="utf-8"))
    assert labels
    assert [label for label in labels if label not in STEPS] == []


def test_a_caption_says_who_where_and_for_how_long() -> None:
    point = StepPoint("C1/worker-0", "calls the listener", 2)
    caption = caption_of(Stall(point, 1_500))
    assert caption["en"].startswith("C1/worker-0 stands still for 1.5 s, just before it «calls the listener». ")
    assert caption["zh"].startswith("C1/worker-0 停顿 1.5 s，就在「调用监听器」之前。")
    paused = caption_of(Stall(point, 20, whole_node=True))
    assert paused["en"].startswith("The whole process C1 stands still for 20 ms, just before C1/worker-0 «calls")


def test_a_step_that_nobody_knows_is_named_as_it_is() -> None:
    assert step_name("does something new") == {"en": "does something new", "zh": "does something new"}
