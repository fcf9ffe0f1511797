"""The verdict of a real broker, over HTTP and on the command line."""

from __future__ import annotations

import time
import urllib.request

import pytest
from click.testing import CliRunner

from app.command_line import main
from engine.broker.foundation.broker_config import BrokerConfig
from engine.replication.ha.ha_config import HaRole
from engine.texts import LANGUAGES
from tests.support.live.live_server import LiveServer, message
from tests.support.waiting import wait_until


@pytest.fixture
def live(tmp_path):
    with LiveServer(tmp_path / "data") as live:
        # What the machine that runs the tests has on its disk is no business of theirs.
        live.host.ask(lambda live: live.set_thresholds({"disk_full": None}))
        yield live


def post(live, body, content_type="application/json"):
    return live.post("/api/live/verdict/thresholds", body, {"Content-Type": content_type})


def make_backlog(live, number=5):
    """Messages for a group that committed offset 0 and has left."""
    live.send(*[message("orders", f"m{n}") for n in range(number)])
    manager = live.host._machines.broker.consumer_offset_manager
    for queue_id in range(4):
        manager.commit_offset("test", "reports", "orders", queue_id, 0)
    live.host.ask(lambda live: live.set_thresholds({"group_offline": 0}))  # which looks at once


def test_the_verdict_of_the_state_is_that_of_the_route_and_names_its_panel(live):
    make_backlog(live)
    status, reported = live.get("/api/live/verdict")
    assert status == 200
    (clause,) = reported["clauses"]
    assert (clause["rule"], clause["level"], clause["panel"], clause["subject"]) == (
        "group_offline",
        "warning",
        "groups",
        "reports",
    )
    assert clause["text"]["en"].startswith("reports has had no consumers for ")
    assert set(clause["text"]) == set(LANGUAGES)
    assert live.host.state()["verdict"]["clauses"][0]["rule"] == "group_offline"
    assert {rule["rule"]: rule["threshold"] for rule in reported["rules"]}["group_offline"] == 0


def test_a_synchronous_master_without_a_slave_is_found_out_by_the_looks_themselves(tmp_path):
    broker = BrokerConfig(port=0, broker_role=HaRole.SYNC_MASTER, ha_listen_port=0)
    with LiveServer(tmp_path / "data", broker=broker) as live:
        live.host.ask(lambda live: live.set_thresholds({"slaves_missing": 0, "disk_full": None}))
        (clause,) = live.get("/api/live/verdict")[1]["clauses"]
        assert (clause["rule"], clause["panel"]) == ("slaves_missing", "replication")


def test_a_rule_that_is_switched_off_is_silent_in_the_answer_already(live):
    make_backlog(live)
    status, reported = post(live, {"group_offline": None})
    assert (status, reported["clauses"]) == (200, [])
    assert {rule["rule"]: rule["threshold"] for rule in reported["rules"]}["group_offline"] is None


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        ({"group_behind": 0}, "group_behind"),
        ({"group_behind": "many"}, "group_behind"),
        ({"no_rule": 1}, "no_rule"),
        ([1], "body"),
    ],
)
def test_a_threshold_that_makes_no_sense_is_refused_by_name_with_what_is_allowed(live, body, parameter):
    status, reported = post(live, body)
    assert (status, reported["parameter"]) == (400, parameter)
    assert reported["allowed"]


def test_what_a_threshold_may_be_is_said_in_both_languages(live):
    status, reported = post(live, {"group_behind": 0})
    assert status == 400
    assert reported["allowed"] == reported["text"]["en"]
    assert reported["text"]["zh"] == "group_behind：1 到 1000000000 的整数，或用 null 关闭该规则"


def test_a_form_of_another_site_sets_no_threshold(live):
    assert post(live, {"group_behind": 7}, content_type="text/plain")[0] == 400


def test_the_history_of_a_window_has_the_backlog_from_before_anybody_watched(live):
    make_backlog(live)
    wait_until(lambda: 5 in live.host.history()["backlog"], "a sample with the backlog; one is taken every second")
    status, reported = live.get(f"/api/live/history?from={int(time.time()) - 300}")
    assert (status, reported["resolution_s"]) == (200, 1)
    assert 5 in reported["measures"]["backlog"]["max"]
    snapshot = live.get("/api/live/history")[1]
    assert len(snapshot["backlog"]) == len(snapshot["begin_us"])
    assert 5 in snapshot["backlog"]


@pytest.mark.parametrize("query", ["from=x", "from=-1", "from=9&to=8", "from=1&of=2", f"from={10**12}"])
def test_a_window_that_makes_no_sense_is_refused(live, query):
    assert live.get(f"/api/live/history?{query}")[0] == 400


def test_the_command_says_the_clauses_and_tells_by_its_exit_code(live):
    page = f"http://{live.server.page_address}"
    calm = CliRunner().invoke(main, ["verdict", "--page", page])
    assert calm.exit_code == 0, calm.output
    make_backlog(live)
    found = CliRunner().invoke(main, ["verdict", "--page", page, "--lang", "zh"])
    assert found.exit_code == 1
    assert "reports" in found.output


@pytest.mark.parametrize(("page", "code"), [("http://127.0.0.1:1", 2), ("file:///etc/passwd", 2), ("orders", 2)])
def test_the_command_tells_a_broker_that_cannot_be_asked_from_one_that_is_ill(page, code):
    found = CliRunner().invoke(main, ["verdict", "--page", page])
    assert found.exit_code == code
    assert "Traceback" not in found.output


def test_prometheus_sees_which_rule_speaks(live):
    def metrics():
        with urllib.request.urlopen(f"http://{live.server.page_address}/metrics", timeout=60) as answer:
            return answer.read().decode()

    make_backlog(live)
    found = metrics()
    assert 'glassmq_verdict{rule="group_offline"} 1' in found
    assert 'glassmq_verdict{rule="damaged"} 0' in found
