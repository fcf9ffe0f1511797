"""The walk of CONTRIBUTING, "a part of a broker on both pages", with a small example in a copy of the source tree."""

from __future__ import annotations

import filecmp
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import live
from tests.e2e.lab.lab_page import opened, run_to_ms
from tests.support.live.glass_process import GlassProcess

ROOT = Path(__file__).parents[2]
COPIED = ("app", "engine", "scripts", "static", "templates", "tests", "tutorials")
FILES_MAX = 5
GENERATED = ("static/types/picture.d.ts",)
#: File -> what is found there, and what takes its place.
EDITS = {
    "app/picture/topic.py": (
        "    max: int\n",
        "    max: int\n    #: Offset in the commit log of its oldest message; -1 without one.\n    begin_offset: int\n",
    ),
    "app/observation/topics_view.py": (
        '    return {"min": minimum, "max": maximum, "committed": committed}\n',
        (
            "    oldest = store.message_in_queue(topic, queue_id, minimum)\n"
            "    begin_offset = -1 if oldest is None else oldest.commit_log_offset\n"
            '    return {"min": minimum, "max": maximum, "begin_offset": begin_offset, "committed": committed}\n'
        ),
    ),
    "static/parts/lane/lag_words.js": (
        '  [t("live.lane.stored", { n: storedIn(queue) }), ',
        (
            '  [t("live.lane.stored", { n: storedIn(queue) }),\n'
            '   ..."begin_offset" in queue ? [t("live.lane.begin_offset", { offset: queue.begin_offset })] : [], '
        ),
    ),
    "app/translations/en.json": (
        '  "live.lane.caught_up"',
        '  "live.lane.begin_offset": "begins at byte {offset} of the commit log",\n  "live.lane.caught_up"',
    ),
    "app/translations/zh.json": (
        '  "live.lane.caught_up"',
        '  "live.lane.begin_offset": "始于 CommitLog 的第 {offset} 字节",\n  "live.lane.caught_up"',
    ),
}
BEGINS = re.compile(r"begins at byte \d+ of the commit log")


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the source tree with the new key."""
    copy = tmp_path_factory.mktemp("tree")
    for name in COPIED:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "golden", "built"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    shutil.copy(ROOT / "pytest_glassmq.py", copy)
    for name, (old, new) in EDITS.items():
        text = (copy / name).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{name} has {old!r} {text.count(old)} times"
        (copy / name).write_text(text.replace(old, new), encoding="utf-8")
    return copy


def run(tree, *arguments):
    result = subprocess.run([sys.executable, "-m", *arguments], cwd=tree, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def changed_files(tree):
    """The sources in the copy that are new or differ from the original; generated files apart."""
    paths = [path for name in COPIED for path in (tree / name).rglob("*") if path.is_file()]
    for name in (path.relative_to(tree) for path in paths):
        is_same = (ROOT / name).exists() and filecmp.cmp(tree / name, ROOT / name, shallow=False)
        if not is_same and name.as_posix() not in GENERATED and "__pycache__" not in name.parts:
            yield name.as_posix()


def test_it_touches_only_the_files_that_contributing_names_and_at_most_five(tree):
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    walk = contributing.partition("**a part of a broker on both pages.**")[2].partition("A whole part")[0]
    named = {
        f"app/translations/{name}" if name.endswith(".json") else name for name in re.findall(r"`([\w/.]+\.\w+)`", walk)
    }
    changed = set(changed_files(tree))
    assert EDITS.keys() <= changed <= named
    assert len(changed) <= FILES_MAX


def test_the_pictures_of_both_worlds_and_the_types_of_the_page_have_the_key(tree):
    tests = ("tests/app/picture/test_pictures_follow_the_schema.py", "tests/app/test_translations.py")
    run(
        tree,
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-n",
        "0",
        "-m",
        "",
        *tests,
        "-k",
        "hello or live or texts or keys",
    )
    run(tree, "scripts.picture_types")
    types = (tree / "static" / "types" / "picture.d.ts").read_text(encoding="utf-8")
    queue = types.partition("interface Queue {")[2].partition("}")[0]
    assert "/** Offset in the commit log of its oldest message; -1 without one. */\n    begin_offset: number;" in queue


def test_both_pages_show_the_key(tree, tmp_path, open_page):
    server = GlassProcess(tmp_path, page=True)
    server.folder = tree
    with server:
        run(tree, "app.command_line", "send", "orders", "hello", "--name-server", server.name_server)
        address = server.addresses["page"].rstrip("/")
        page = live(open_page(f"{address}/live"))
        expect(page.get_by_role("img", name=BEGINS)).to_have_count(1)

        page = opened(open_page(f"{address}/lab/hello"))
        run_to_ms(page, 5_000)
        expect(page.get_by_role("group", name=BEGINS).first).to_be_visible()
