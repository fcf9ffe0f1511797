"""``glassmq storage dump``: what stands in Kafka's files, and what is wrong in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.command_line import main
from engine.kafka.records.compression import SPOKEN_CODECS
from engine.runtime.live.live_disk import LiveDisk
from tests.support.kafka.partitions import BEGIN_MS, FOLDER, batch_of, opened_log

NAME = f"{0:020d}"


def run(*words: str):
    return CliRunner().invoke(main, ["storage", "dump", *words])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Sixty records in batches of five, packed in turn."""
    disk = LiveDisk("broker", tmp_path)
    log = opened_log(disk, index_interval_bytes=600)
    for first in range(0, 60, 5):
        log.append(batch_of(5, first, SPOKEN_CODECS[first // 5 % len(SPOKEN_CODECS)]))
    log.close()
    disk.close()
    return tmp_path / FOLDER


def test_every_batch_and_entry_is_shown_and_nothing_is_changed(folder):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    result = run(str(folder))
    assert (result.exit_code, result.output.splitlines()[-1]) == (0, "Nothing is wrong.")
    assert "byte 246: offsets 5 to 9, gzip" in result.output
    assert result.output.count(": offsets ") == 12
    assert f"entry 2: offset 59, time {BEGIN_MS + 59}" in result.output
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_quiet_shows_counts_only(folder):
    result = run(str(folder), "--quiet")
    assert ": offsets " not in result.output
    assert "12 looked at" in result.output


def changed(position: int, data: bytes) -> Callable[[bytes], bytes]:
    return lambda whole: whole[:position] + data + whole[position + len(data) :]


@pytest.mark.parametrize(
    ("suffix", "change", "said"),
    [
        (".log", changed(300, b"\x00"), "checksum"),
        (".log", changed(246 + 16, b"\x01"), "magic 1"),
        (".log", changed(246, bytes(8)), "offset 0 where 5 is next"),
        (".log", changed(246 + 8, b"\xff"), "they are not a whole batch"),
        (".log", lambda whole: whole[:-1], "they are not a whole batch"),
        (".index", changed(7, b"\x01"), "ends with offset 24, at byte"),
        (".index", lambda whole: whole + whole[:8], "does not come after"),
        (".index", lambda whole: whole + (99).to_bytes(4, "big") + (1 << 20).to_bytes(4, "big"), "points beyond"),
        (".index", lambda whole: whole + b"torn", "4 bytes: WRONG: an entry has 8"),
        (".index", lambda whole: whole + bytes(40) + b"x", "not all 0"),
        (".timeindex", changed(7, b"\x01"), "the largest time"),
        (".timeindex", lambda whole: whole + b"torn", "an entry has 12"),
    ],
)
def test_what_is_wrong_is_named(folder, suffix, change, said):
    path = folder / (NAME + suffix)
    path.write_bytes(change(path.read_bytes()))
    result = run(str(path), "--quiet")
    assert result.exit_code == 1
    assert said in result.output


def test_what_a_running_kafka_keeps_in_reserve_is_not_wrong(folder):
    for suffix, entry_bytes in ((".index", 8), (".timeindex", 12)):
        path = folder / (NAME + suffix)
        path.write_bytes(path.read_bytes() + bytes(entry_bytes * 1_000))
    result = run(str(folder))
    assert result.exit_code == 0
    assert "from entry 2 on: 8000 bytes that a running Kafka keeps in reserve" in result.output


def test_what_is_no_file_of_kafka_is_refused_with_what_is_allowed(tmp_path):
    (tmp_path / "1.log").write_bytes(b"")
    for path in (tmp_path, tmp_path / "1.log"):
        result = run(str(path))
        assert result.exit_code == 1
        assert "named by 20 digits and .log, .index, .timeindex" in result.output


def test_an_index_without_its_log_is_said(folder):
    (folder / f"{NAME}.log").unlink()
    result = run(str(folder / f"{NAME}.index"))
    assert (result.exit_code, f"{NAME}.log" in result.output) == (1, True)
