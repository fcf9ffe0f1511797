"""A file is replaced as a whole, or stays as it was."""

from __future__ import annotations

import errno
import os
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


def test_a_link_stays_and_a_pipe_takes_the_content(tmp_path):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    link.symlink_to(pipe)
    write_whole(link, b"into the pipe")
    assert os.read(reader, 100) == b"into the pipe"
    os.close(reader)
    file = tmp_path / "file"
    link.unlink()
    link.symlink_to(file)
    for content in (b"first", b"second"):
        write_whole(link, content)
        assert file.read_bytes() == content
    assert link.is_symlink()
    assert sorted(tmp_path.iterdir()) == [file, link, pipe]
