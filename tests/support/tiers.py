"""Which tests ``make test`` runs, which it leaves to ``make test-rest``, and how much each of the two tries.

A test says by the fixtures it uses what it needs: Spark, a browser, a client of RocketMQ. What needs one of these is
marked ``services`` and of the tier ``rest``, and so is what is marked ``thorough``; all else, and one test of each kind
that is marked ``smoke``, is of the tier ``quick``. A tier is a marker as well: ``pytest`` alone means
``pytest -m quick``, and ``pytest -m ""`` runs all.

Properties and sweeps are of both tiers, and try more in ``rest``: see :func:`examples` and :func:`seeds`. Of what goes
through all lessons or scenarios in a browser, and the like, all but about a fifth is marked ``further``: continuous
integration leaves that to ``make test-rest``, as it has to end on a busy machine, too.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

QUICK, REST = "quick", "rest"
#: The marker of what needs a fixture of :data:`NEEDS`.
SERVICES = "services"
#: Hypothesis' profile of ``rest``; that of ``quick`` has its name.
FULL = "full"
#: A fixture, and the marker of the tests that use it.
NEEDS: Mapping[str, str] = {
    "spark_installed": "spark",
    "chromium": "browser",
    "real_client": "interop",
    "wheel": "wheel",
    "real_servers": "databases",
}
#: Said by hand of what takes ten seconds and more, and finds little that quicker tests of the same do not.
THOROUGH = "thorough"
#: Said by :func:`sampled`, or by hand, of a service's test that repeats another with more.
FURTHER = "further"
#: Needs Java and Maven, and an hour: of neither tier, see ``make interop``.
JAVA = "interop_java"
#: In ``config.stash``: every test that was found, before ``-m`` was looked at, and its markers.
COLLECTED = pytest.StashKey[dict[str, set[str]]]()
#: What only ``make test-rest`` runs, but for one smoke test of each need.
LEFT_TO_REST = {*NEEDS.values(), THOROUGH}


def register_profiles(derandomize: bool) -> None:
    """Hypothesis' settings of both tiers."""
    for name, examples_max in ((QUICK, 15), (FULL, 100)):
        # No deadline: a slow moment of the machine is no failing example.
        hypothesis.settings.register_profile(
            name, deadline=None, derandomize=derandomize, print_blob=True, max_examples=examples_max
        )


def choose_profile(marker_expression: str) -> None:
    """Before tests are collected: all of them, and those of ``rest``, try more than those of ``make test``."""
    hypothesis.settings.load_profile(FULL if REST in marker_expression or not marker_expression else QUICK)


def examples(*, quick: int, full: int) -> int:
    """For ``max_examples``: how many of them this run tries."""
    return quick if hypothesis.settings.get_current_profile_name() == QUICK else full


def sampled(names: Iterable[str], every: int = 5) -> list[ParameterSet]:
    """For ``parametrize``: all of them; one in ``every`` is not ``further``. The name alone decides, so that a new one
    changes nothing for the others.
    """
    return [
        pytest.param(name, marks=() if zlib.crc32(name.encode()) % every == 0 else getattr(pytest.mark, FURTHER))
        for name in names
    ]


@pytest.fixture(scope="module")
def seeds(request: pytest.FixtureRequest) -> int:
    """How many random fates the sweeps of a module try: ``pytestmark = pytest.mark.seeds(quick=5, full=50)``.

    More of them: ``GLASSMQ_SWEEP_SEEDS=1000``.
    """
    marker = request.node.get_closest_marker("seeds")
    assert marker is not None, "the module says no pytest.mark.seeds"
    return int(os.environ.get("GLASSMQ_SWEEP_SEEDS", "0")) or examples(**marker.kwargs)


@pytest.fixture(scope="session")
def real_client() -> None:
    """Used by whatever starts a client of RocketMQ."""


def mark(item: pytest.Item) -> None:
    """Add the markers of what the test needs, and of its tiers."""
    fixtures: Collection[str] = getattr(item, "fixturenames", ())
    for fixture, need in NEEDS.items():
        if fixture in fixtures:
            item.add_marker(need)
            if item.get_closest_marker(JAVA) is None:
                item.add_marker(SERVICES)
    is_property = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    for tier in tiers({marker.name for marker in item.iter_markers()}, tries_more=is_property or "seeds" in fixtures):
        item.add_marker(tier)


def tiers(markers: Collection[str], *, tries_more: bool) -> tuple[str, ...]:
    """The tiers of a test with these markers, which in ``rest`` tries more of the same or not."""
    if JAVA in markers:
        return ()
    if LEFT_TO_REST.intersection(markers) and "smoke" not in markers:
        return (REST,)
    return (QUICK, REST) if tries_more else (QUICK,)
