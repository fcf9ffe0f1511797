"""The picture of a broker of a lab world."""

from __future__ import annotations

from app.lab.views.broker_view import BrokerView
from app.lab.views.record_detail import record_at
from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.scenario_files import load_scenario


def test_a_record_keeps_the_time_that_its_broker_wrote_when_the_clock_is_set():
    with LabRun(load_scenario("hello")) as run:
        run.run_to_time(3_000_000)
        (node,) = run.world.roles(BrokerNode)
        assert node.broker is not None
        view = BrokerView(node.broker)

        def stored():
            return {one["offset"]: one["stored_us"] for one in view.build()["commit_log"]["records"]}

        before = stored()
        assert before and all(0 < at <= 3_000_000 for at in before.values())
        run.apply(parse_command({"kind": "clock-skew", "target": node.name, "ms": 60_000}))
        assert stored() == before
        run.run_to_time(5_000_000)
        later = {offset: at for offset, at in stored().items() if offset not in before}
        assert later and all(63_000_000 < at <= 65_000_000 for at in later.values())
        for offset, at in (before | later).items():
            assert record_at(run, node.name, offset)["record"]["stored_us"] == at
