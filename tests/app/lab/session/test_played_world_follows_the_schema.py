"""What a page of the lab gets is what app/picture says."""

from __future__ import annotations

from app.picture.world.playing import PlayedWorld
from tests.support.picture.schema_problems import schema_problems


def test_a_world_follows_the_schema_while_it_plays_runs_and_shows_its_past(lab):
    browser = lab.browser()
    browser.open(scenario="hello")
    lab.serve()
    browser.control("play")
    lab.pass_time(1)
    browser.receive()
    found = list(schema_problems(browser.view, PlayedWorld))
    browser.control("pause")
    browser.control("run-until", on="time", time_us=20_000_000)
    browser.receive()
    found += schema_problems(browser.view, PlayedWorld)
    lab.serve()
    browser.control("scrub", event=5)
    lab.serve()
    browser.receive()
    assert browser.view["in_past"]
    assert [*found, *schema_problems(browser.view, PlayedWorld)] == []
