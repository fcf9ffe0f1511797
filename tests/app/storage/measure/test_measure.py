"""The measurement of a disk: what it counts is exact, how long it takes is not looked at."""

from __future__ import annotations

import os

import pytest

from app.storage.measure import page_cache
from app.storage.measure.appends import FLUSHES
from app.storage.measure.measure import Measurement
from app.storage.measure.report import picture, tables
from app.storage.measure.socket_sends import WAYS
from app.storage.progress import Cancelled, ProgressStep

SIZE_BYTES = 2 << 20


@pytest.fixture(scope="module")
def reported() -> list[ProgressStep]:
    return []


@pytest.fixture(scope="module")
def result(reported, tmp_path_factory):
    folder = tmp_path_factory.mktemp("measure")
    measured = Measurement(folder, SIZE_BYTES, 2, reported.append).run()
    assert list(folder.iterdir()) == []
    return measured


def test_every_step_is_reported_before_it_is_done(result, reported):
    assert [step.number for step in reported] == list(range(reported[0].total))
    assert len({step.doing for step in reported}) * 2 == len(reported)


def test_reads_take_a_call_for_each_block(result):
    assert {(read.order, read.block_bytes, read.is_cold): read.calls for read in result.reads} == {
        (order, block, is_cold): SIZE_BYTES // block
        for order in ("sequential", "random")
        for block in (4_096, 65_536, 1_048_576)
        for is_cold in (True, False)
    }


def test_each_way_to_send_has_its_calls_and_copies(result):
    assert {send.way: send.copied_bytes // SIZE_BYTES for send in result.sends} == dict(
        zip(WAYS, (2, 1, 0), strict=True)
    )
    for send in result.sends:
        pieces = SIZE_BYTES // send.chunk_bytes
        least = {"read+send": 2 * pieces, "mmap+send": pieces + 2, "sendfile": pieces}[send.way]
        assert send.calls >= least


def test_appends_are_flushed_as_often_as_they_say(result):
    assert {one.flush: one.flushes for one in result.appends} == dict(zip(FLUSHES, (0, 100, 200), strict=True))


def test_medians_lie_between_the_lowest_and_the_highest(result):
    spreads = [read.bytes_per_s for read in result.reads] + [send.bytes_per_s for send in result.sends]
    assert all(0 < spread.low <= spread.median <= spread.high for spread in spreads)


def test_the_tables_have_a_row_for_each_figure_and_the_picture_a_bar(result):
    text = tables(result)
    assert text.count("\n| ") == len(result.reads) + len(result.sends) + len(result.appends) + 3
    assert picture(result).count("<rect") == 1 + len(result.reads) + len(result.sends)


def test_a_measurement_that_is_cancelled_leaves_nothing(tmp_path):
    def cancel_at_third(step: ProgressStep) -> None:
        if step.number == 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        Measurement(tmp_path, 1 << 20, 1, cancel_at_third).run()
    assert list(tmp_path.iterdir()) == []


def test_the_page_cache_of_a_file_is_emptied_and_filled_again(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(1 << 20))
    with path.open("rb+") as file:
        os.pread(file.fileno(), 1 << 20, 0)
        assert page_cache.cached_share(file.fileno(), 1 << 20) == 1
        page_cache.empty(file.fileno())
        emptied = page_cache.cached_share(file.fileno(), 1 << 20)
        # Where files are in memory only, there is nothing to empty, and that is reported.
        assert emptied in (0, 1)
