"""Pictures of Kafka's nodes, and of its frames down to the byte."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from app.lab.views.world_view import WorldView
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from tests.support.lab.kafka_scenarios import cluster, small
from tests.support.lab.lab_scenarios import apply


def node(view: WorldView, name: str) -> Any:
    nodes: Any = view.build()["nodes"]
    return nodes[name]


def leaves(fields: list[Any]) -> Iterator[Any]:
    for field in fields:
        if field["children"]:
            yield from leaves(field["children"])
        else:
            yield field


def test_a_batch_fills_in_the_accumulator_then_it_is_in_flight():
    with LabRun(small(('body: "body {n}"}\n', 'body: "body {n}"}\n    settings: {linger_ms: 50}\n'))) as run:
        view = WorldView(run)
        run.run_to_time(530_000)
        part = node(view, "P1")["accumulator"]
        (row,) = [one for one in part["partitions"] if one["batches"]]
        (batch,) = row["batches"]
        assert (batch["attempts"], batch["is_closed"]) == (0, False)
        assert 3 < batch["records"] < 8
        assert 500_000 <= batch["since_us"] <= 510_000
        assert (part["batch_bytes"], part["linger_us"]) == (16_384, 50_000)
        run.run_to_time(562_000)
        (request,) = node(view, "P1")["requests"]
        assert request["name"] == "PRODUCE"
        assert request["records"] > batch["records"]


def test_a_broker_shows_what_lies_on_its_disk_also_while_no_process_runs():
    with LabRun(small()) as run:
        view = WorldView(run)
        run.run_to_time(5_000_000)
        running = node(view, "K1")["partitions"]
        assert [one["topic"] for one in running] == ["T", "T"]
        assert sum(one["end"] for one in running) == 40
        (segment,) = running[0]["segments"]
        assert segment["name"] == "00000000000000000000.log"
        assert segment["batches"][0]["is_unflushed"] is True
        apply(run, "crash", "K1")
        crashed = node(view, "K1")["partitions"]
        assert [one["segments"] for one in crashed] == [one["segments"] for one in running]


def test_a_consumer_shows_the_way_of_its_fetch_and_how_many_records_are_left():
    with LabRun(load_scenario("completed-fetches")) as run:
        view = WorldView(run)
        run.run_to_time(1_082_000)
        fetcher = node(view, "C1")["fetcher"]
        assert [one["name"] for one in fetcher["in_flight"]] == ["FETCH"]
        run.run_to_time(1_100_000)
        shown = node(view, "C1")
        assert [(one["records_left"], one["records"]) for one in shown["fetcher"]["completed"]] == [
            (9, 12),
            (12, 12),
            (12, 12),
        ]
        assert shown["polled"] == {"keys": ["order-0", "order-3", "order-6"], "count": 3, "at": "order-0"}
        assert shown["positions"][0] == {"topic": "Orders", "partition": 0, "position": 3, "committed": None}


def test_a_frame_opens_to_fields_that_cover_its_bytes():
    with LabRun(load_scenario("completed-fetches")) as run:
        view = WorldView(run)
        run.run_to_time(1_100_000)
        frames: Any = view.build()["frames"]
        for frame in frames:
            if frame["kind"] not in ("request", "response"):
                continue
            detail: Any = view.frames.detail(frame["id"])
            assert detail["problem"] is None
            spans = sorted((leaf["position"], leaf["length"]) for leaf in leaves(detail["tree"]))
            assert spans[0] == (0, 4)
            assert all(start + length <= later for (start, length), (later, _) in pairwise(spans))
            assert spans[-1][0] + spans[-1][1] <= frame["size_bytes"]
        reply = next(frame for frame in reversed(frames) if frame.get("reply_to_name") == "FETCH")
        tree: Any = view.frames.detail(reply["id"])
        names = [leaf["name"] for leaf in leaves(tree["tree"])]
        assert {"correlation_id", "high_watermark", "checksum", "base_sequence", "timestamp_delta_ms"} <= {*names}


def test_what_was_packed_has_fields_without_places():
    with LabRun(load_scenario("compressed-batches")) as run:
        view = WorldView(run)
        run.run_to_time(617_000)
        frames: Any = view.build()["frames"]
        produce = next(frame for frame in frames if frame["name"] == "PRODUCE" and frame["source"] == "Gzip")
        detail: Any = view.frames.detail(produce["id"])
        packed = [leaf for leaf in leaves(detail["tree"]) if leaf["name"] == "value"]
        assert len(packed) == 11
        assert {leaf["position"] for leaf in packed} == {-1}


def test_a_replica_shows_who_leads_how_far_consumers_read_and_who_is_in_sync():
    with LabRun(cluster()) as run:
        view = WorldView(run)
        run.run_to_time(1_000_000)
        apply(run, "pause-node", "K3")
        run.run_to_time(1_400_000)
        (partition,) = node(view, "K1")["partitions"]
        replica = partition["replica"]
        assert (replica["state"], replica["leader"], replica["epoch"]) == ("leader", "K1", 0)
        assert replica["isr"] == replica["replicas"] == ["K1", "K2", "K3"]
        assert replica["high_watermark"] < partition["end"]
        assert [one["name"] for one in replica["followers"]] == ["K2", "K3"]
        (partition,) = node(view, "K2")["partitions"]
        assert partition["replica"]["state"] == "fetching"
        run.run_to_time(5_000_000)
        (partition,) = node(view, "K1")["partitions"]
        assert partition["replica"]["isr"] == ["K1", "K2"]
        apply(run, "crash", "K1")
        (partition,) = node(view, "K1")["partitions"]
        assert partition["replica"] is None, "what lies on its disk is shown, what it believed is gone"


def test_a_controller_shows_who_lives_and_what_it_has_decided():
    with LabRun(cluster()) as run:
        view = WorldView(run)
        run.run_to_time(1_000_000)
        apply(run, "crash", "K1")
        run.run_to_time(4_000_000)
        shown = node(view, "Q")
        assert [(one["name"], one["heard_us"] is None) for one in shown["brokers"]] == [
            ("K1", True),
            ("K2", False),
            ("K3", False),
        ]
        assert shown["session_us"] == 1_000_000
        (decided,) = shown["partitions"]
        assert (decided["leader"], decided["epoch"], decided["isr"]) == ("K2", 1, ["K2", "K3"])
        apply(run, "crash", "Q")
        assert "brokers" not in node(view, "Q")
