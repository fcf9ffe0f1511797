"""The pytest plugin of GlassMQ: a RocketMQ broker as a fixture; docs/testkit/testkit.md describes it.

Every pytest run of an environment with GlassMQ imports this module, so it imports nothing but pytest, and a broker only
when a fixture is used.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from engine.faults.frame_file import FrameFile
    from engine.testkit import GlassMQ, GlassMQProcess
    from engine.testkit.frame_delays import FrameDelay

#: Option and ini name (with _ for -) -> metavar, whether it takes several, default, help.
_OPTIONS: dict[str, tuple[str, bool, str, str]] = {
    "host": ("HOST", False, "127.0.0.1", "Address on which the broker listens; 0.0.0.0 for clients in containers."),
    "broker-setting": (
        "NAME=VALUE",
        True,
        "",
        "Setting of the broker, in RocketMQ's name or GlassMQ's; may be repeated.",
    ),
    "store-setting": ("NAME=VALUE", True, "", "Setting of the broker's store; may be repeated."),
    "unhit-faults": ("fail|ignore", False, "fail", "What a fault rule that acted on no frame does to its test."),
    "record": (
        "retain-on-failure|on|off",
        False,
        "retain-on-failure",
        "Which tests leave a page with all frames between their clients and their brokers.",
    ),
    "seeds": ("N", False, "0", "Run each test with the marker glassmq_seeds under N seeded delays of frames."),
    "seed": ("N", False, "", "Run these tests under the delays of this seed only."),
    "record-folder": ("FOLDER", False, "test-results/glassmq", "Folder of these pages."),
}
#: Option -> its values, where these are few.
_CHOICES = {"unhit-faults": ("fail", "ignore"), "record": ("retain-on-failure", "on", "off")}
#: In the stash of a test: the frames of its brokers, and their state, as texts.
_RECORDED = pytest.StashKey["list[tuple[FrameFile | None, str]]"]()
#: In the stash of a test: the delays of its frames.
_DELAYS = pytest.StashKey["list[FrameDelay]"]()
_SEEDS_MAX = 1_000_000
#: In the stash of the session's configuration: files of frames whose pages are not written yet.
_FRAME_FILES = pytest.StashKey[list[Path]]()
#: Characters of a test's id in the name of its page.
_NAME_MAX_LENGTH = 120


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, each with a twin in the ini file."""
    group = parser.getgroup("glassmq", "GlassMQ (a RocketMQ broker for tests)")
    for name, (metavar, is_list, default, text) in _OPTIONS.items():
        option, ini = f"--glassmq-{name}", f"glassmq_{name.replace('-', '_')}"
        group.addoption(option, action="append" if is_list else "store", default=None, metavar=metavar, help=text)
        kind: Literal["linelist", "string"] = "linelist" if is_list else "string"
        parser.addini(ini, f"The same as {option}.", kind, [] if is_list else default)


def _option(config: pytest.Config, name: str) -> Any:
    """Return the value of an option: the command line's before the ini file's."""
    given = config.getoption(f"--glassmq-{name}")
    return config.getini(f"glassmq_{name.replace('-', '_')}") if given is None else given


def _settings(config: pytest.Config, name: str) -> dict[str, str]:
    from engine.live.engine_settings import BadSetting, read_assignments

    try:
        return read_assignments(_option(config, name) or (), name)
    except BadSetting as error:
        raise pytest.UsageError(f"glassmq: {error}") from None


def _choice(config: pytest.Config, name: str) -> str:
    value: str = _option(config, name)
    if value not in _CHOICES[name]:
        allowed = ", ".join(_CHOICES[name])
        raise pytest.UsageError(f"glassmq: {value!r} is no value of --glassmq-{name}; allowed: {allowed}")
    return value


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """End the faults of all brokers of a test; where it has passed so far, a rule that acted on no frame fails it."""
    delays = item.stash.get(_DELAYS, [])
    for broker in _brokers_of(item):
        broker.faults.disturb(delays)
    try:
        result = yield
    except BaseException:
        _keep_record(item)
        for broker in _brokers_of(item):
            broker.faults.clear()
        raise
    _keep_record(item)
    for broker in _brokers_of(item):
        broker.faults.end()
    return result


# --- tests under seeded delays ----------------------------------------------------------------------------------------


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and refuse options before the first test."""
    config.addinivalue_line("markers", "glassmq_seeds: run under seeded delays of frames, see --glassmq-seeds")
    _seeds(config)
    for name in _CHOICES:
        _choice(config, name)


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Refuse parameters of the marker, which would mean nothing."""
    for item in items:
        marker = item.get_closest_marker("glassmq_seeds")
        if marker is not None and (marker.args or marker.kwargs):
            raise pytest.UsageError(
                f"glassmq: {item.nodeid}: the marker glassmq_seeds has no parameters; "
                "write @pytest.mark.glassmq_seeds, and give the number of seeds as --glassmq-seeds N"
            )


def _seeds(config: pytest.Config) -> Sequence[int]:
    """Return the seeds of this session; none: tests run once, without delays."""
    if seed := _option(config, "seed"):
        return [_number("seed", seed)]
    return range(1, _number("seeds", _option(config, "seeds")) + 1)


def _number(option: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= _SEEDS_MAX):
        raise pytest.UsageError(f"glassmq: {text!r} is no value of --glassmq-{option}; allowed: 0 to {_SEEDS_MAX:,}")
    return int(text)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a marked test under each seed until it fails; then find out which of the delays the failure needs."""
    if item.get_closest_marker("glassmq_seeds") is None or not (seeds := _seeds(item.config)):
        return None
    from _pytest.runner import runtestprotocol

    _kit()
    from engine.testkit.frame_delays import delays_of, smallest_failing

    def run(delays: list[FrameDelay]) -> list[pytest.TestReport]:
        item.stash[_DELAYS] = delays
        item._report_sections.clear()  # the output of the run before
        return runtestprotocol(item, log=False, nextitem=nextitem)

    def fails(delays: list[FrameDelay]) -> bool:
        return any(report.failed for report in run(delays))

    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports: list[pytest.TestReport] = []
    for seed in seeds:
        reports = run(delays_of(seed))
        failed = [report for report in reports if report.failed]
        if failed:
            needed = smallest_failing(delays_of(seed), fails)
            text = "\n".join(map(str, needed)) or "none: it fails without delays, too"
            repeat = f"fails under seed {seed}; to repeat it: pytest '{item.nodeid}' --glassmq-seed {seed}"
            failed[0].sections.append(("GlassMQ seeds", f"{repeat}\ndelays that it needs:\n{text}"))
        if failed or any(report.skipped for report in reports):
            break
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


# --- the record of a test ---------------------------------------------------------------------------------------------


def _keep_record(item: pytest.Item) -> None:
    """Keep what the brokers of a test exchanged, before its faults end and the next test empties them."""
    brokers = _brokers_of(item)
    if brokers and _choice(item.config, "record") != "off":
        from engine.testkit.failed_test import recorded_frames, state_text

        item.stash[_RECORDED] = [(recorded_frames(broker), state_text(broker)) for broker in brokers]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say in the section of a failure where its frames are, and what the broker had."""
    report = yield
    kept = item.stash.get(_RECORDED, [])
    if report.when != "call" or not kept or not (report.failed or _choice(item.config, "record") == "on"):
        return report
    lines = []
    for place, (frames, state) in enumerate(kept, 1):
        number = f"-{place}" if len(kept) > 1 else ""
        written = "none" if frames is None else _write_frames(item, report, frames, number)
        lines += [f"frames: {written}", state]
    report.sections.append(("GlassMQ at the end of the test", "\n".join(lines)))
    return report


def _write_frames(item: pytest.Item, report: pytest.TestReport, frames: FrameFile, number: str) -> str:
    """Write a file of frames, and name the page that the end of the session makes of it."""
    import json
    import re

    from engine.faults.frame_file import file_text

    folder = item.config.rootpath / _option(item.config, "record-folder")
    file = folder / f"{re.sub(r'[^0-9A-Za-z_-]+', '-', item.nodeid)[-_NAME_MAX_LENGTH:].strip('-')}{number}.json"
    crash = getattr(report.longrepr, "reprcrash", None)
    note = "" if crash is None else str(crash.message)
    texts = {"title": file_text(item.nodeid), "note": file_text(note)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({**frames, **texts}), encoding="utf-8")
    except OSError as error:
        return f"not written, choose another --glassmq-record-folder: {error}"
    if not _has_flask():
        return f"{file}; an HTML page with: pip install 'glassmq[page]'"
    item.config.stash.setdefault(_FRAME_FILES, []).append(file)
    return str(file.with_suffix(".html"))


def _has_flask() -> bool:
    import importlib.util

    try:
        return importlib.util.find_spec("flask") is not None
    except ValueError:  # something stands in its place
        return False


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Make pages of the files of frames, in a process of its own: a suite may have a package ``app`` itself."""
    files = session.config.stash.get(_FRAME_FILES, [])
    if files:
        from engine.testkit.glassmq_process import write_frame_pages

        write_frame_pages([*dict.fromkeys(files)])


# --- fixtures ---------------------------------------------------------------------------------------------------------


def _brokers_of(item: pytest.Item) -> list[GlassMQ]:
    """Return the running brokers among the fixtures of a test; one may be the value of several."""
    values = getattr(item, "funcargs", {}).values()
    brokers = {id(value): value for value in values if type(value).__module__ == "engine.testkit.glassmq"}
    return [broker for broker in brokers.values() if broker.is_running]


@pytest.fixture(scope="session")
def make_glassmq(request: pytest.FixtureRequest) -> Iterator[Callable[..., GlassMQ]]:
    """A function that starts another broker, which runs until the end of the session unless it is stopped before.

    It takes the parameters of ``GlassMQ``; what it is not given comes from pytest's options.
    """
    kit = _kit()
    config = request.config
    with ExitStack() as running:

        def make(**parameters: Any) -> GlassMQ:
            parameters.setdefault("host", _option(config, "host"))
            parameters.setdefault("fail_unhit", _choice(config, "unhit-faults") == "fail")
            parameters.setdefault("records_frames", _choice(config, "record") != "off")
            for name in ("broker", "store"):
                given = parameters.get(f"{name}_settings") or {}
                parameters[f"{name}_settings"] = {**_settings(config, f"{name}-setting"), **given}
            broker: GlassMQ = running.enter_context(kit.GlassMQ(**parameters))
            return broker

        yield make


@pytest.fixture(scope="session")
def _glassmq_of_session(make_glassmq: Callable[..., GlassMQ]) -> GlassMQ:
    return make_glassmq()


@pytest.fixture(scope="session")
def glassmq_name_server(_glassmq_of_session: GlassMQ) -> str:
    """The address of the name server of ``glassmq``, for fixtures that start a service once."""
    return _glassmq_of_session.name_server_address


@pytest.fixture
def glassmq(_glassmq_of_session: GlassMQ) -> Iterator[GlassMQ]:
    """A RocketMQ broker without topics, groups and messages, at the same address in each test."""
    _glassmq_of_session.reset()
    yield _glassmq_of_session
    if not _glassmq_of_session.is_running:
        _glassmq_of_session.start()
        pytest.fail(
            "the test stopped the broker of all tests, which has new addresses now: "
            "stop a broker of make_glassmq() instead, or kill this one with glassmq.faults.crash()",
            pytrace=False,
        )
    _glassmq_of_session.faults.clear()


@pytest.fixture
def glassmq_process(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GlassMQProcess]:
    """A RocketMQ broker in a process of its own, which a test may kill and start again on its files."""
    config = request.config
    with _kit().GlassMQProcess(
        tmp_path_factory.mktemp("glassmq"),
        host=_option(config, "host"),
        broker_settings=_settings(config, "broker-setting"),
        store_settings=_settings(config, "store-setting"),
    ) as process:
        yield process


def _kit() -> Any:
    try:
        import engine.testkit as kit
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "engine":  # a package that GlassMQ needs
            raise
        import engine

        here = getattr(engine, "__file__", None) or getattr(engine, "__path__", None)
        raise pytest.UsageError(
            f"glassmq: {error}; the package 'engine' that these tests see is {here}, and GlassMQ's has the same name"
        ) from error
    return kit
