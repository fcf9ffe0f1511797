"""Which form runs, and why: builds that are there, stale, foreign, or not there."""

from __future__ import annotations

import json
import sys

import pytest

from engine.compiled import form
from engine.compiled.form import (
    MANIFEST,
    BuildUnusable,
    CompiledFinder,
    EngineForm,
    choose_form,
    extension_suffix,
    running_form,
    source_digests,
    usable_modules,
    write_manifest,
)

#: A module that no test of this process has imported.
NOT_IMPORTED = "engine.protocol.of_a_test"


@pytest.fixture(autouse=True)
def a_process_that_has_not_chosen(monkeypatch):
    monkeypatch.setattr(form._Process, "form", EngineForm(False, "nobody asked"))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))


@pytest.fixture
def built(tmp_path):
    write_manifest(tmp_path, [NOT_IMPORTED], source_digests())
    return tmp_path


def test_a_build_of_this_source_is_used(built):
    assert choose_form(wants_compiled=True, folder=built) == EngineForm(True)
    assert running_form().name == "compiled"
    finder = sys.meta_path[0]
    assert isinstance(finder, CompiledFinder)
    spec = finder.find_spec(NOT_IMPORTED)
    assert spec is not None
    assert spec.origin == str(built / f"engine/protocol/of_a_test{extension_suffix()}")
    assert finder.find_spec("engine.protocol.errors") is None


def test_who_asks_for_the_source_gets_it(built):
    assert choose_form(wants_compiled=False, folder=built) == EngineForm(False, "asked for")
    assert running_form().name == "interpreted"


def test_without_a_build_the_source_runs_and_it_is_said_how_to_make_one(tmp_path):
    assert choose_form(wants_compiled=True, folder=tmp_path) == EngineForm(False, "nothing was compiled (make fast)")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda sources: sources.update({"engine/store/log/commit_log.py": "0"}),
            r"^engine/store/log/commit_log.py ch",
        ),
        (lambda sources: sources.pop("engine/protocol/names.py"), r"^engine/protocol/names.py changed"),
        (lambda sources: sources.update({"engine/store/gone.py": "0"}), r"^engine/store/gone.py changed"),
        (dict.clear, r" and \d+ more changed since it was compiled: make fast$"),
    ],
)
def test_a_build_of_another_source_is_noticed_and_not_used(built, change, says):
    sources = source_digests()
    change(sources)
    write_manifest(built, [NOT_IMPORTED], sources)
    with pytest.raises(BuildUnusable, match=says):
        usable_modules(built)
    assert not choose_form(wants_compiled=True, folder=built).is_compiled


def test_a_process_that_has_imported_the_source_goes_on_with_it(built):
    write_manifest(built, [NOT_IMPORTED, "engine.compiled.form"], source_digests())
    chosen = choose_form(wants_compiled=True, folder=built)
    assert chosen == EngineForm(False, "engine.compiled.form was imported before")


def test_a_build_for_another_python_is_not_used(built):
    manifest = json.loads((built / MANIFEST).read_text())
    (built / MANIFEST).write_text(json.dumps(manifest | {"suffix": ".cpython-39-m68k.so"}))
    with pytest.raises(BuildUnusable, match="another Python"):
        usable_modules(built)


def test_what_runs_compiled_stays_so(built):
    choose_form(wants_compiled=True, folder=built)
    assert choose_form(wants_compiled=False).is_compiled
