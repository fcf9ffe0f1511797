"""`glassmq serve` says which form of the engine it runs."""

import contextlib

import pytest

from engine.compiled.form import BuildUnusable, usable_modules
from tests.support.live.glass_process import GlassProcess


def best_form():
    with contextlib.suppress(BuildUnusable):
        usable_modules()
        return "compiled"
    return "interpreted"


@pytest.mark.parametrize(("options", "form"), [(("--interpreted",), "interpreted"), ((), best_form())])
def test_serve_says_which_form_of_the_engine_runs(options, form, tmp_path):
    with GlassProcess(tmp_path / "data", *options) as server:
        assert server.addresses["form"] == form
