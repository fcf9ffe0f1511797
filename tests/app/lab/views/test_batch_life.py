"""The life of a message says with whom it travelled."""

from __future__ import annotations

from app.lab.views.world_view import WorldView
from engine.lab.run.run import LabRun
from tests.support.lab.lab_scenarios import run_to_ms, small


def produced(run: LabRun, key: str):
    life = WorldView(run).build()["life"]["messages"][key]
    return next(mark for mark in life["marks"] if mark["kind"] == "produced")


def test_a_message_of_a_batch_names_its_companions_and_a_single_one_has_none():
    with LabRun(small(("count: 20, every_ms: 100", "count: 9, every_ms: 100, batch: 8"))) as run:
        run_to_ms(run, 3_000)
        assert produced(run, "k-3")["batch"] == {"count": 8, "first": "k-0", "last": "k-7"}
        assert "batch" not in produced(run, "k-8")
