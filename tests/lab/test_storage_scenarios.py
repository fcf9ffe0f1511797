"""The scenarios about storage: what their texts say is what their runs do."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

from app.lab.views.world_view import view_of
from engine.lab.narration.narrator import Narrator
from engine.lab.run.run import LabRun
from engine.lab.scenario.kinds.node_spec import DiskNodeSpec
from engine.lab.scenario.scenario import Command, Scenario
from engine.lab.scenario.scenario_files import load_scenario
from engine.runtime.lab.lab_page_cache import ArmMove, LabPageCache, PageCacheLimits

LOG = "commitlog/00000000000000000000"
STEP_US = 100_000


@contextmanager
def begun(scenario: Scenario, until_ms: int) -> Iterator[LabRun]:
    with LabRun(scenario) as run:
        run.run_to_time(until_ms * 1_000)
        yield run


def cache_of(run: LabRun, node: str = "B1") -> LabPageCache:
    cache = run.world.disk_of(node).page_cache
    assert cache is not None
    return cache


def log_reads(run: LabRun, until_ms: int, node: str = "B1") -> list[ArmMove]:
    """What the arm reads of the commit log from now until then, read-ahead included."""
    first = max((move.number for move in cache_of(run, node).moves), default=0)
    seen: dict[int, ArmMove] = {}
    while run.now_us < until_ms * 1_000:
        run.run_to_time(min(run.now_us + STEP_US, until_ms * 1_000))
        seen.update((move.number, move) for move in cache_of(run, node).moves if move.number > first)
    return [move for move in seen.values() if move.path == LOG and move.kind != "write"]


def without(scenario: Scenario, node: str) -> Scenario:
    return dataclasses.replace(scenario, nodes=tuple(spec for spec in scenario.nodes if spec.name != node))


def next_offset(run: LabRun, group: str) -> int:
    (role,) = run.world.brokers()
    assert role.broker is not None
    return max(role.broker.consumer_offset_manager.query_offset(group, "Orders", 0), 0)


def consumed(run: LabRun, node: str) -> int:
    return len({call.key for call in run.world.history.consumes_ended if call.node == node})


def acknowledged(run: LabRun, broker: str) -> int:
    return sum(sent.status == "ok" and sent.broker == broker for sent in run.world.history.sends_returned)


def stored(run: LabRun, broker: str) -> int:
    (role,) = (role for role in run.world.brokers() if role.name == broker)
    assert role.broker is not None
    return role.broker.store.max_offset("Orders", 0)


# ------------------------------------------------------------------------------------------------------- page-cache


def test_a_reader_that_follows_hits_every_time_and_the_disk_only_writes():
    with begun(load_scenario("page-cache"), 10_390) as run:
        for node in ("B1", "B2"):
            cache = cache_of(run, node)
            assert cache.figures.misses == 0
            assert cache.figures.hits > 150
            assert {move.kind for move in cache.moves} == {"write"}


def test_sync_flush_comes_back_to_the_same_page_and_async_flush_gathers():
    with begun(load_scenario("page-cache"), 10_390) as run:
        gathered, at_once = cache_of(run, "B1"), cache_of(run, "B2")
        assert acknowledged(run, "B2") == 46
        assert at_once.figures.fsyncs > 46 > 5 * gathered.figures.fsyncs
        assert at_once.figures.seeks > 3 * gathered.figures.seeks
        pages = [move.page for move in at_once.moves if move.path == LOG]
        assert sum(left == right for left, right in pairwise(pages)) > len(pages) / 2
        assert [path for path, _ in gathered.dirty].count(LOG) >= 4
        assert [path for path, _ in at_once.dirty].count(LOG) == 0


def test_the_power_cut_loses_acknowledged_orders_of_the_asynchronous_broker_only_and_recovery_reads_the_disk():
    with begun(load_scenario("page-cache"), 10_500) as run:
        assert all(len(cache_of(run, node)) == 0 for node in ("B1", "B2"))
        reads = log_reads(run, 12_000)
        assert sum(move.pages for move in reads) >= 8
        assert stored(run, "B1") < acknowledged(run, "B1") == 46
        assert stored(run, "B2") == acknowledged(run, "B2") == 46
        assert all(cache_of(run, node).figures.misses > 10 for node in ("B1", "B2"))
        run.run_to_time(run.world.end_us)
        assert run.violations == []


def test_dropping_the_caches_harms_nobody_who_follows():
    with begun(load_scenario("page-cache"), 8_000) as run:
        run.apply(Command("drop-caches", "B1", {}))
        assert len(cache_of(run)) == len(cache_of(run).dirty) > 0
        assert log_reads(run, 10_390) == []


# ------------------------------------------------------------------------------------------------------- cold-reader


def test_without_the_cold_reader_nobody_reads_the_log_from_the_disk():
    with begun(without(load_scenario("cold-reader"), "C3"), 1_000) as run:
        assert log_reads(run, 20_000) == []
        assert next_offset(run, "stock") == 300


def test_followers_hit_until_the_cold_reader_starts():
    with begun(load_scenario("cold-reader"), 1_000) as run:
        assert log_reads(run, 12_000) == []
        assert 35 <= next_offset(run, "shop") - next_offset(run, "stock") <= 55
        assert (LOG, 0) not in cache_of(run)


def test_the_cold_reader_reads_sequentially_by_read_ahead_and_pushes_out_what_the_other_group_comes_to():
    with begun(load_scenario("cold-reader"), 12_000) as run:
        behind, own = [], []
        for until_ms in range(12_100, 18_001, 100):
            # Four records stand in a page, more or less.
            audit, stock = next_offset(run, "audit"), next_offset(run, "stock")
            for move in log_reads(run, until_ms):
                (own if abs(4 * move.page - audit) < abs(4 * move.page - stock) else behind).append(move)
        assert own[0].page == 0
        assert {"read", "ahead"} == {move.kind for move in own}
        assert len([move for move in behind if move.kind == "read"]) >= 5
        figures = cache_of(run).figures
        assert figures.read_ahead_hits > 20 > figures.read_ahead_wasted
        run.run_to_time(run.world.end_us)
        assert [consumed(run, node) for node in ("C1", "C2", "C3")] == [300, 300, 300]
        assert run.violations == []


def test_the_newest_pages_stay_and_sends_wait_while_the_disk_reads():
    def slowest_us(scenario: Scenario) -> int:
        with begun(scenario, 20_000) as run:
            began = {sent.key: sent.time_us for sent in run.world.history.sends_invoked}
            returned = run.world.history.sends_returned
            assert {sent.status for sent in returned} == {"ok"}
            return max(sent.time_us - began[sent.key] for sent in returned if began[sent.key] > 12_000_000)

    cold = load_scenario("cold-reader")
    assert slowest_us(cold) > slowest_us(without(cold, "C3")) == 4_000
    with begun(cold, 12_000) as run:
        for until_ms in range(12_100, 16_001, 100):
            newest = stored(run, "B1") // 4
            assert all(move.page < newest for move in log_reads(run, until_ms) if move.kind == "read")


def test_what_a_page_or_a_checker_looks_at_changes_nothing():
    journals = []
    for is_watched in (True, False):
        with begun(load_scenario("cold-reader"), 12_000) as run:
            for time_us in range(12_000_000, 13_600_000, STEP_US):
                run.run_to_time(time_us)
                for role in run.world.brokers() if is_watched else ():
                    assert role.broker is not None
                    assert role.broker.store.message_at(0) is not None
            journals.append((run.journal_hash, cache_of(run).figures))
    assert journals[0] == journals[1]


def test_the_caption_of_the_moment_says_who_waits_for_the_disk():
    with begun(load_scenario("cold-reader"), 12_000) as run:
        narrator, reported = Narrator(run), set()
        while run.now_us < 12_500_000 and run.step():
            if narrator.caption is not None:
                reported.add(narrator.caption.text["en"])
        waits = f"B1 reads {LOG} from its disk (pages: 2) and is blocked meanwhile."
        assert waits in reported


# ------------------------------------------------------------------------------------------------------- both stores


def test_kafkas_broker_has_the_same_page_cache_and_writes_more_files_than_rocketmqs_log_has():
    limits = PageCacheLimits(32, dirty_percent=100)
    scenario = load_scenario("two-logs")
    nodes = tuple(
        dataclasses.replace(spec, disk=dataclasses.replace(spec.disk, page_cache=limits))
        if isinstance(spec, DiskNodeSpec)
        else spec
        for spec in scenario.nodes
    )
    with begun(dataclasses.replace(scenario, nodes=nodes), 5_000) as run:
        logs = {path for path, _ in cache_of(run, "K1").dirty if path.endswith(".log")}
        assert len(logs) == 4
        assert {path for path, _ in cache_of(run, "B1").dirty if path.startswith("commitlog")} <= {LOG}
        assert all(cache_of(run, node).figures.hits > 0 == cache_of(run, node).figures.misses for node in ("B1", "K1"))
        assert view_of(run)["nodes"]["K1"]["page_cache"]["pages"] == len(cache_of(run, "K1"))
        assert run.violations == []


def test_with_many_topics_the_arm_of_kafkas_disk_travels_about_twice_as_often():
    with begun(load_scenario("ten-thousand-topics"), 3_600) as run:
        assert cache_of(run, "K1").figures.seeks > 1.8 * cache_of(run, "B1").figures.seeks
        run.run_to_time(run.world.end_us)
        assert [one.status for one in run.world.history.sends_returned] == ["ok"] * 192


def test_from_an_empty_memory_both_find_the_first_order_by_a_few_reads():
    with begun(load_scenario("find-message-n"), 6_900) as run:
        assert [cache_of(run, node).figures.misses for node in ("B1", "K1")] == [0, 0]
        run.run_to_time(run.world.end_us)
        for node, reader in (("B1", "C1"), ("K1", "C2")):
            assert 0 < cache_of(run, node).figures.misses < 20
            assert consumed(run, reader) == 120
