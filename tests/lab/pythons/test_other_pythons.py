"""Every Python plays the same events: golden journals in other versions of Python, and under WebAssembly."""

from __future__ import annotations

import json
import os
import sys
import zlib
from pathlib import Path

import pytest
import zstandard

from engine.kafka.records.compression import Codec, decompress
from engine.lab.scenario.scenario_files import scenario_names
from scripts.fetch_page_packages import PROJECT
from tests.app.storage.file_digests import digests_of_stores
from tests.lab.golden_journal import file_of
from tests.support.pythons import other_pythons
from tests.support.pythons.other_pythons import PACKAGES, PYODIDE, find_node, find_python, run_program, webassembly

# All scenarios take minutes, and a busy machine more.
pytestmark = [pytest.mark.thorough, pytest.mark.timeout(1_800)]

#: "1": all scenarios are played, not every fifth.
ALL_VARIABLE = "GLASSMQ_ALL_SCENARIOS"
#: "1": a missing Pyodide is a failure and no reason to skip.
REQUIRE_VARIABLE = "GLASSMQ_REQUIRE_PYODIDE"
VERSIONS = [version for version in ("3.11", "3.12", "3.13", "3.14") if version != "{}.{}".format(*sys.version_info)]
#: Scenarios with a codec that some Python lacks: without packages, all lack lz4, and those before 3.14 Zstandard.
NEEDED_CODEC = {"compressed-batches": "lz4", "24-accumulator-batches-and-compression": "zstd"}
PLAYER = Path(other_pythons.__file__).with_name("play_in_this_python.py")
ZSTANDARD_PROGRAM = PLAYER.with_name("pack_in_this_python.py")
STORE_PROGRAM = PLAYER.with_name("store_in_this_python.py")
BODY = b"".join(b"order %d is paid, " % number for number in range(500))


def chosen_scenarios() -> list[str]:
    """About every fifth: its name alone decides, so that a new scenario changes nothing for the others."""
    is_all = os.environ.get(ALL_VARIABLE) == "1"
    return [name for name in scenario_names() if is_all or zlib.crc32(name.encode()) % 5 == 0 or name in NEEDED_CODEC]


def check_journals(interpreter: list[str | Path]) -> str:
    """Play the scenarios there and compare them with their golden files; return the version of Python."""
    names = chosen_scenarios()
    played = json.loads(run_program(interpreter, PLAYER, PROJECT, PACKAGES, given=json.dumps(names)))
    assert list(played) == names
    journals = {name: outcome for name, outcome in played.items() if isinstance(outcome, dict)}
    version: str = next(iter(journals.values()))["python"]
    supported = ["zstd"] if version >= "3.14" else []
    for name, codec in NEEDED_CODEC.items():
        assert codec in supported or f"codec: '{codec}' is not allowed; allowed: none, gzip" in played.pop(name)
    assert list(journals) == list(played)
    differing = []
    for name, journal in journals.items():
        golden = json.loads(file_of(name).read_text(encoding="utf-8"))
        if journal | {"python": ""} != golden | {"python": ""}:
            differing.append(f"{name}: {journal['events']} events, not {golden['events']}")
    assert not differing
    return version


@pytest.fixture
def pyodide() -> list[str | Path]:
    node = find_node()
    if node and PYODIDE.exists():
        return webassembly(node)
    lacking = "Pyodide is not installed: make test-rest, or npm ci" if node else "there is no Node.js"
    if os.environ.get(REQUIRE_VARIABLE) == "1":
        pytest.fail(lacking)
    pytest.skip(lacking)


@pytest.mark.parametrize("version", VERSIONS)
def test_another_python_plays_what_the_golden_journals_say(version):
    python = find_python(version)
    if python is None:
        pytest.skip(f"there is no Python {version} here")
    assert check_journals([python]) == version


def test_webassembly_plays_what_the_golden_journals_say(pyodide):
    assert check_journals(pyodide) >= "3.14"


def test_zstandard_of_python_itself_and_the_package_read_each_other(pyodide):
    """It has its own from 3.14 on, and takes the place of the package where that is not installed."""
    packed = zstandard.compress(BODY)
    in_pyodide = run_program(pyodide, ZSTANDARD_PROGRAM, PROJECT, given=packed.hex())
    assert decompress(Codec.ZSTD, bytes.fromhex(in_pyodide), len(BODY)) == BODY


def test_webassembly_writes_the_same_stores_as_this_python(pyodide):
    """Without threads, sockets, and calls that reserve space."""
    written = json.loads(run_program(pyodide, STORE_PROGRAM, PROJECT, PACKAGES))
    assert written == digests_of_stores()
