"""Checks of outside input, and of the disk, that hold under ``python -O`` too, which leaves assertions out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]
THRESHOLDS = """
from app.watch.rules import RULES
from app.watch.thresholds import Thresholds
for content in ("[]", "7", "null", '"x"'):
    (folder / "verdict.json").write_text(content)
    assert_equal(Thresholds(folder / "verdict.json").of(RULES[0]), RULES[0].default)
"""
FULL_DISK = """
from engine.runtime.port import DiskFull
from engine.store.files.mapped_file_queue import MappedFileQueue
from engine.store.files.mapping_pool import MappingPool
class Full:
    def open_file(self, path, size_bytes):
        raise DiskFull(path)
queue = MappedFileQueue(Full(), MappingPool(2), "commitlog", 1024)
try:
    queue.append_file(0)
except DiskFull:
    assert_equal(queue.files, [])
else:
    raise SystemExit("the file was added")
"""
BEGIN = """
import sys
from pathlib import Path
folder = Path(sys.argv[1])
def assert_equal(left, right):
    if left != right:
        raise SystemExit(f"{left} is not {right}")
"""


@pytest.mark.parametrize("program", [THRESHOLDS, FULL_DISK])
def test_what_comes_from_outside_is_checked_without_assertions(program, tmp_path):
    done = subprocess.run(
        [sys.executable, "-O", "-c", BEGIN + program, str(tmp_path)], cwd=PROJECT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
