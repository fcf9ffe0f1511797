"""Runs for the tests of the host: a process must find them by name."""

from __future__ import annotations

import time
from pathlib import Path

from app.storage.progress import ProgressCallback, ProgressStep
from app.storage.runs.report import Plot, Report


def quick(folder: Path, progress: ProgressCallback) -> Report:
    """Tells one step and brings a plot; its folder is its own."""
    assert folder.is_dir()
    progress(ProgressStep(1, 2, "half of it"))
    return Report("here", [Plot("reads", {"kafka": [(1.0, 2.0)]})])


def endless(folder: Path, progress: ProgressCallback) -> Report:
    """Never ends by itself, and leaves a file."""
    (folder / "half-done").touch()
    progress(ProgressStep(3, 12, "a quarter"))
    while True:
        time.sleep(60)


def broken(_folder: Path, _progress: ProgressCallback) -> Report:
    """Fails."""
    raise ValueError("the disk said no")
