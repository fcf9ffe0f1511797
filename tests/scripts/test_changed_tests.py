"""``make test CHANGED=1``: which tests belong to a file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts import changed_tests
from scripts.changed_tests import ALWAYS, changed_files

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture
def project(tmp_path):
    """A project with a few tests, all of it committed on ``main``."""
    for name, text in {
        "engine/store/log/commit_log.py": "",
        "engine/store/deep/lone.py": "",
        "tests/engine/store/log/test_commit_log.py": "",
        "tests/engine/store/log/test_commit_log_scanner.py": "from tests.support.pipeline.stored_log import stored",
        "tests/engine/test_lone.py": "",
        "tests/support/pipeline/stored_log.py": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    commit(tmp_path)
    return tmp_path


def git(folder, *arguments):
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments], cwd=folder, check=True)


def commit(folder):
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "it")


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        (
            "engine/store/log/commit_log.py",
            ["tests/engine/store/log/test_commit_log.py", "tests/engine/store/log/test_commit_log_scanner.py"],
        ),
        ("engine/store/deep/lone.py", ["tests/engine/test_lone.py"]),
        ("engine/store/unheard_of.py", ["tests/engine/store"]),
        ("app/unheard_of.py", []),
        ("tests/engine/store/log/test_commit_log.py", ["tests/engine/store/log/test_commit_log.py"]),
        ("tests/engine/store/test_deleted.py", []),
        ("tests/engine/store/conftest.py", ["tests/engine/store"]),
        ("tests/engine/gone/conftest.py", []),
        ("tests/support/pipeline/stored_log.py", ["tests/engine/store/log/test_commit_log_scanner.py"]),
        ("docs/lab.md", ["tests/test_docs.py"]),
        ("tests/golden/lab/hello.json", ["tests/lab/test_golden_journals.py"]),
        ("LICENSE", []),
    ],
)
def test_a_file_is_tested_by_its_mirror_or_by_its_folder(project, changed, tests):
    assert list(changed_tests.tests_of(changed, project)) == tests


def test_tests_that_are_always_named_exist():
    named = {ALWAYS, *(test for tests in changed_tests.OTHERS.values() for test in tests)}
    assert [test for test in sorted(named) if not (PROJECT / test).exists()] == []


def test_what_changed_on_a_branch_and_what_is_not_committed_count(project, monkeypatch, capsys):
    git(project, "switch", "--quiet", "--create", "mine")
    (project / "engine/store/log/commit_log.py").write_text("changed")
    commit(project)
    (project / "engine/store/new.py").write_text("")
    assert sorted(changed_files(project)) == ["engine/store/log/commit_log.py", "engine/store/new.py"]

    monkeypatch.chdir(project)
    assert changed_tests.main() == 0
    choice, reasons = capsys.readouterr()
    assert choice.split() == ["tests/engine/store", ALWAYS], "and with the folder what is in it"
    assert "engine/store/new.py: tests/engine/store\n" in reasons


def test_without_git_nothing_is_chosen_so_that_everything_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert changed_tests.main() == 1
    choice, reasons = capsys.readouterr()
    assert choice == ""
    assert "all tests run" in reasons
