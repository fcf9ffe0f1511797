"""A file is replaced as a whole, or stays as it was."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from app.foundation.whole_file import write_whole


@pytest.mark.parametrize("step", ["write_bytes", "replace"])
def test_a_failure_leaves_the_old_content_and_nothing_else(tmp_path, monkeypatch, step):
    file = tmp_path / "report.json"
    write_whole(file, b"old")

    def fails(path, *_arguments):
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, step, fails)
        with pytest.raises(OSError, match="No space"):
            write_whole(file, b"new")
    assert file.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [file]
    write_whole(file, b"new")
    assert file.read_bytes() == b"new"
