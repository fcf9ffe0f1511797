"""A fault injector in front of a node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.faults.frame_path import FramePath, frame_paths


@pytest.fixture
def frame_path() -> Iterator[FramePath]:
    with frame_paths() as one:
        yield one
