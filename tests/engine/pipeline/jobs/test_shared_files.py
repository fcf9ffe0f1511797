"""Files that driver and executors share: the text of a micro-batch, and files that appear whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.pipeline.jobs.shared_files import SharedFiles


@pytest.fixture
def files(spark, tmp_path):
    return SharedFiles(spark, str(tmp_path / "shared"))


@pytest.mark.parametrize("name", ["5.json", "memory/5.json"])
def test_a_new_file_is_drafted_in_its_own_folder(files, tmp_path, monkeypatch, name):
    drafts = []

    def link(draft, target):
        drafts.append(Path(draft))
        Path(target).write_bytes(Path(draft).read_bytes())

    monkeypatch.setattr(os, "link", link)
    assert files.write_new(name, "text")
    assert [draft.parent for draft in drafts] == [(tmp_path / "shared" / name).parent]
    assert files.read(name) == "text"


def test_a_file_that_exists_is_not_replaced_and_no_draft_is_left(files, tmp_path):
    assert files.write_new("5.json", "first")
    assert not files.write_new("5.json", "second")
    assert files.read("5.json") == "first"
    assert os.listdir(tmp_path / "shared") == ["5.json"]


def test_the_state_before_a_micro_batch_is_that_of_the_one_before_it(files):
    assert files.state_before(0) is None
    for batch in range(4):
        files.keep_state(batch, f"state {batch}")
    assert files.state_before(4) == "state 3"
    # Repeated after a crash.
    assert files.state_before(3) == "state 2"
    files.keep_state(3, "repeated")
    assert files.state_before(4) == "repeated"
    assert files.names("") == ["2.json", "3.json"]


def test_without_a_text_the_next_micro_batch_finds_none_and_a_repetition_finds_the_one_before(files):
    files.keep_state(0, "state 0")
    files.keep_state(1, None)
    assert files.state_before(2) is None
    assert files.state_before(1) == "state 0"
