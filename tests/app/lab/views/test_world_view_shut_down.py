"""A node that is off says whether it ever ran."""

from __future__ import annotations

from app.lab.views.world_view import WorldView
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from tests.support.lab.lab_scenarios import apply, run_to_ms, small


def test_a_node_that_was_shut_down_is_distinguished_from_one_not_started():
    with LabRun(load_scenario("backlog-and-scale-out"), check=False) as run:
        nodes = WorldView(run).build()["nodes"]
        assert (nodes["C5"]["status"], nodes["C5"]["has_run"]) == ("off", False)
    with LabRun(load_scenario("rebalance-join-leave"), check=False) as run:
        run.run_to_time(90_000_000)
        nodes = WorldView(run).build()["nodes"]
        off = {name for name, node in nodes.items() if node["status"] == "off"}
        assert off and all(nodes[name]["has_run"] for name in off)


def test_a_node_that_is_started_after_a_power_cut_does_not_read_as_one_that_was_shut_down():
    """Its process begins with an event of its own: until then it is off, and starting."""
    with LabRun(small(), check=False) as run:
        world = WorldView(run)

        def broker():
            node = world.build()["nodes"]["B1"]
            return node["status"], node["is_starting"]

        run_to_ms(run, 1_000)
        apply(run, "crash-power", "B1")
        assert broker() == ("crashed", False)
        apply(run, "restart", "B1")
        assert broker() == ("off", True)
        while broker()[0] == "off":
            assert broker()[1]
            run.run_events(1)
        assert broker() == ("running", False)
