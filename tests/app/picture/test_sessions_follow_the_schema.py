"""What a session sends next to its world is what app/picture says: films, journals, comparisons, faults."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from app.lab.routes.demonstration import DemonstrationMaker
from app.lab.session.comparison import DifferenceFinder
from app.lab.session.film import FilmMaker
from app.lab.session.journal_pages import JournalFilter, search_backward
from app.lab.session.player import WorldPlayer
from app.lab.session.why_job import WhyJob
from app.picture.live.fault import AllowedFaults
from app.picture.session.comparison import FirstDifference
from app.picture.session.film import Demonstration, Film
from app.picture.session.journal import JournalMatches, PlayedWindow
from app.picture.session.why import Why
from app.picture.world.playing import Playing
from engine.broker.foundation.broker_config import BrokerConfig
from engine.faults.frame_file import FrameFile
from engine.lab.run.recording import Recording
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from tests.support.live.live_server import LiveServer, message
from tests.support.picture.schema_problems import schema_problems


def recording(event: int, seed: int = 0) -> Recording:
    return Recording(load_scenario("03-ordered-consumption"), seed, (), event, 0)


def result_of(make):
    answer: Future = Future()
    job = make(answer)
    while not job.advance(lambda: False):
        pass
    job.close()
    return answer.result(0)


@pytest.mark.parametrize(
    ("make", "schema"),
    [
        (lambda answer: FilmMaker(recording(300), answer), Film),
        (lambda answer: DifferenceFinder(recording(300), recording(300, seed=1), answer), FirstDifference),
        (lambda answer: DifferenceFinder(recording(100), recording(100), answer), FirstDifference),
        (lambda answer: WhyJob(recording(300), "order-1", answer), Why),
        (DemonstrationMaker, Demonstration),
    ],
)
def test_the_answer_of_a_job_follows_the_schema(make, schema):
    assert list(schema_problems(result_of(make), schema)) == []


def test_the_state_of_playing_and_the_journal_follow_the_schema():
    player = WorldPlayer(LabRun(load_scenario("hello")), lambda: 0.0, lambda _: None, lambda _: None)
    player.run.run_to_time(player.run.world.end_us)
    found = [
        *schema_problems(player.as_json(), Playing),
        *schema_problems(player.window(0, player.run.now_us), PlayedWindow),
        *schema_problems(search_backward(player.run.world.journal, JournalFilter(), 100), JournalMatches),
    ]
    player.close()
    assert found == []


def test_faults_and_recorded_frames_of_a_live_broker_follow_the_schema(tmp_path):
    with LiveServer(tmp_path, allow_faults=True, page=False, broker=BrokerConfig(port=0)) as live:
        faults = live.host.faults
        faults.ask(lambda service: service.injector.record("", with_bodies=True))
        faults.apply({"kind": "fault", "target": "broker-a", "what": "delay", "ms": 1})
        live.create_topic("orders", queues=2)
        live.send(message("orders", "one"))
        view = faults.view()
        assert view["hits"] and view["recording"]["count"]
        assert list(schema_problems(view, AllowedFaults)) == []
        assert list(schema_problems(faults.ask(lambda service: service.frames()), FrameFile)) == []
