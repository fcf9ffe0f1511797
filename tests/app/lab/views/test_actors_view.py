"""The timers of a world, as the page lists them."""

import dataclasses

from app.lab.views.actors_view import ActorsView
from engine.lab.run.run import LabRun
from tests.support.lab.lab_scenarios import run_to_ms, small


def test_timers_of_one_task_that_are_due_together_are_distinguished_by_an_index():
    with LabRun(small()) as run:
        run_to_ms(run, 1_050)
        schedule, view = run.world.loop.schedule, ActorsView(run.world.lab)
        first = next(event for event in schedule.next_timers(100) if event.actor.name == "P1/sends T")
        second = dataclasses.replace(first)
        schedule.add_timer(second)

        def indexes():
            return [timer["index"] for timer in view.timers() if timer["actor"] == "P1/sends T"]

        assert indexes() == [0, 1]
        first.cancel()
        assert indexes() == [0]
