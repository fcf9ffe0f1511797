"""A file is replaced as a whole, or stays as it was."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from app.foundation.whole_file import READ_MAX_BYTES, write_whole
from app.observation.client_names import ClientNames
from app.watch.thresholds import Thresholds
from engine.runtime.live.whole_file import read_whole


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


@pytest.mark.parametrize("kind", ["a pipe", "a device without end", "a file with a hole"])
def test_what_may_have_no_end_is_refused_and_not_read(kind, tmp_path):
    place = tmp_path / "client_names.json"
    match kind:
        case "a pipe":
            os.mkfifo(place)
        case "a device without end":
            place.symlink_to("/dev/zero")
        case _:
            place.touch()
            os.truncate(place, 1 << 40)
    with pytest.raises(OSError, match=r"it is not a regular file|it has 1099511627776 bytes; allowed: 67108864"):
        read_whole(place, READ_MAX_BYTES)
    names = ClientNames(place)
    assert names.of("c@1", consumes=True) == "C1"
    assert Thresholds(place) is not None


def test_a_file_is_read_as_it_is(tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    assert read_whole(tmp_path / "file", READ_MAX_BYTES) == b"content"
    with pytest.raises(FileNotFoundError):
        read_whole(tmp_path / "missing", READ_MAX_BYTES)
