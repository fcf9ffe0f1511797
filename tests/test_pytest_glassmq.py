"""The pytest plugin, as a suite of somebody else uses it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = "pytester"

PROJECT = Path(__file__).resolve().parent.parent
SENDS = """
    import asyncio
    from engine.client import DefaultMQProducer, Message

    def send(address, topic="orders", body=b"1"):
        async def work():
            async with DefaultMQProducer(None, "shop", address) as producer:
                await producer.send(Message(topic, body))
        asyncio.run(work())
"""


@pytest.fixture
def suite(pytester, monkeypatch):
    """Makes a suite of one file, runs it in a process of its own, and returns the result."""
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(source, *options, ini="", sends=SENDS):
        pytester.makepyfile(sends + source)
        pytester.makeini("[pytest]\n" + ini)
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "pytest_glassmq", *options)

    return run


def test_each_test_gets_a_clean_broker_at_the_same_address(suite):
    result = suite(
        """
    addresses = set()

    def test_first(glassmq):
        send(glassmq.name_server_address)
        assert len(glassmq.wait_for("orders")) == 1
        addresses.add(glassmq.name_server_address)

    def test_second(glassmq):
        assert glassmq.messages("orders") == []
        assert addresses == {glassmq.name_server_address}
    """
    )
    result.assert_outcomes(passed=2)


def test_a_fixture_of_the_session_knows_the_address_of_each_test(suite):
    result = suite(
        """
    import pytest

    @pytest.fixture(scope="session")
    def service(glassmq_name_server):
        return lambda: send(glassmq_name_server)

    @pytest.mark.parametrize("number", range(2))
    def test_it(glassmq, service, number):
        service()
        glassmq.assert_sent("orders", count=1)
    """
    )
    result.assert_outcomes(passed=2)


def test_a_session_may_have_further_brokers(suite):
    result = suite(
        """
    import pytest

    @pytest.fixture(scope="session")
    def strict(make_glassmq):
        return make_glassmq(broker_settings={"autoCreateTopicEnable": False})

    def test_it(glassmq, strict):
        send(glassmq.name_server_address)
        with pytest.raises(Exception, match="orders"):
            send(strict.name_server_address)
    """
    )
    result.assert_outcomes(passed=1)


def test_a_test_may_kill_a_broker_in_a_process_of_its_own(suite):
    result = suite(
        """
    def test_it(glassmq_process):
        send(glassmq_process.name_server_address)
        glassmq_process.kill()
        glassmq_process.start()
        send(glassmq_process.name_server_address)
    """
    )
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("options", "ini", "is_created"),
    [
        ((), "", True),
        (("--glassmq-broker-setting", "autoCreateTopicEnable=false"), "", False),
        ((), "glassmq_broker_setting = autoCreateTopicEnable=false", False),
        (
            ("--glassmq-broker-setting", "autoCreateTopicEnable=true"),
            "glassmq_broker_setting = autoCreateTopicEnable=false",
            True,
        ),
    ],
)
def test_settings_come_from_the_command_line_before_the_ini_file(suite, options, ini, is_created):
    result = suite("\n    def test_it(glassmq):\n        send(glassmq.name_server_address)\n", *options, ini=ini)
    result.assert_outcomes(passed=is_created, failed=not is_created)


def test_a_setting_without_a_value_is_refused_by_name(suite):
    result = suite("\n    def test_it(glassmq): pass\n", "--glassmq-broker-setting", "autoCreateTopicEnable")
    result.stdout.fnmatch_lines(["*glassmq: 'autoCreateTopicEnable' is not a broker-setting; write NAME=VALUE*"])


def test_a_package_that_hides_the_engine_is_named(pytester, suite):
    hides = pytester.mkpydir("engine")
    result = suite("import engine\n\ndef test_it(glassmq): pass\n", sends="")
    result.stdout.fnmatch_lines([f"*the package 'engine' that these tests see is {hides}*"])


def test_all_options_are_in_one_group_of_the_help(suite):
    shown = suite("", "--help").stdout.str()
    group = shown[shown.index("GlassMQ (a RocketMQ broker for tests):") :]
    for option in ("--glassmq-host", "--glassmq-broker-setting", "--glassmq-store-setting"):
        assert option in group.split("\n\n")[0]
        assert option.removeprefix("--").replace("-", "_") in shown


def test_a_run_that_uses_no_fixture_imports_nothing_of_the_engine(suite, pytester):
    pytester.makeconftest("""
        import sys

        def pytest_sessionfinish():
            print("ours:", [name for name in sys.modules if name.split(".")[0] in ("engine", "app", "pytest_glassmq")])
    """)
    result = suite("def test_nothing(): pass\n", "-s", sends="")
    assert "ours: ['pytest_glassmq']" in result.stdout.str()


def test_the_plugin_s_import_brings_one_module():
    code = (
        "import sys, pytest; before = set(sys.modules); import pytest_glassmq; print(sorted(set(sys.modules) - before))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "['pytest_glassmq']"


UNHIT = """
    def test_it(glassmq):
        glassmq.faults.drop("END_TRANSACTION")
        send(glassmq.name_server_address)

    def test_next(glassmq):
        send(glassmq.name_server_address)
        assert len(glassmq.messages("orders")) == 1
"""


def test_a_fault_that_nothing_met_fails_its_test_with_the_frames_that_came(suite):
    result = suite(UNHIT)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*faults.drop('END_TRANSACTION') acted on no frame*", "*SEND_MESSAGE_V2*orders*shop*"])


def test_faults_that_nothing_met_may_be_allowed(suite):
    suite(UNHIT, ini="glassmq_unhit_faults = ignore").assert_outcomes(passed=2)


def test_faults_end_with_a_test_that_fails(suite):
    result = suite(
        """
    def test_it(glassmq):
        glassmq.faults.crash()
        assert False, "mine"

    def test_next(glassmq):
        send(glassmq.name_server_address)
    """
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*AssertionError: mine*"])


def test_faults_of_a_broker_of_the_session_end_with_a_test_that_fails(suite):
    result = suite(
        """
    import pytest

    @pytest.fixture(scope="session")
    def other(make_glassmq):
        return make_glassmq()

    def test_it(other):
        other.faults.reject("SEND_MESSAGE_V2")
        assert False, "mine"

    def test_next(other):
        send(other.name_server_address)
    """
    )
    result.assert_outcomes(passed=1, failed=1)


FAILS = """
    def test_it(glassmq):
        send(glassmq.name_server_address, body=b"the secret of the page")
        assert False, "mine"

    def test_next(glassmq):
        send(glassmq.name_server_address)
"""


def pages_in(folder):
    return sorted(file.name for file in folder.rglob("*") if file.suffix in (".html", ".json"))


def test_a_failed_test_leaves_a_page_with_its_frames_and_says_what_the_broker_had(suite, pytester):
    result = suite(FAILS)
    result.assert_outcomes(passed=1, failed=1)
    page = "test_a_failed_test_leaves_a_page_with_its_frames_and_says_what_the_broker_had-py-test_it.html"
    folder = pytester.path / "test-results" / "glassmq"
    assert pages_in(folder) == [page]
    result.stdout.fnmatch_lines([f"frames: {folder / page}", "*orders*1"])
    content = (folder / page).read_text()
    assert "SEND_MESSAGE_V2" in content and "AssertionError: mine" in content


def test_a_test_that_fails_by_an_unhit_fault_leaves_a_page(suite, pytester):
    suite(UNHIT).assert_outcomes(passed=1, failed=1)
    assert len(pages_in(pytester.path / "test-results")) == 1


@pytest.mark.parametrize(("mode", "pages"), [("on", 2), ("off", 0)])
def test_pages_of_all_tests_or_of_none_may_be_wanted(suite, pytester, mode, pages):
    suite(FAILS, "--glassmq-record", mode, "--glassmq-record-folder", "frames")
    assert len(pages_in(pytester.path)) == pages
    assert not (pytester.path / "test-results").exists()


def test_a_test_with_two_brokers_leaves_a_page_of_each(suite, pytester):
    suite(
        """
    import pytest

    @pytest.fixture(scope="session")
    def other(make_glassmq):
        return make_glassmq()

    def test_it(glassmq, other):
        send(glassmq.name_server_address)
        send(other.name_server_address)
        assert False
    """
    )
    assert [name.rpartition("test_it")[2] for name in pages_in(pytester.path)] == ["-1.html", "-2.html"]


def test_without_the_page_s_packages_a_failed_test_leaves_its_frames(suite, pytester):
    pytester.makeconftest("import sys\nsys.modules['flask'] = None\n")
    result = suite(FAILS)
    assert [name.rpartition(".")[2] for name in pages_in(pytester.path)] == ["json"]
    result.stdout.fnmatch_lines(["frames: *test_it.json; an HTML page with: pip install 'glassmq[[]page[]]'"])


def test_a_folder_that_cannot_be_written_costs_the_page_only(suite, pytester):
    pytester.makefile(".txt", taken="")
    result = suite(FAILS, "--glassmq-record-folder", "taken.txt")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["frames: not written, choose another --glassmq-record-folder: *File exists*"])


def test_a_test_that_stops_the_broker_of_all_tests_is_the_only_one_that_fails(suite):
    result = suite(
        """
    def test_it(glassmq):
        glassmq.stop()

    def test_next(glassmq):
        send(glassmq.name_server_address)
        glassmq.assert_sent("orders")
    """
    )
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["the test stopped the broker of all tests, *make_glassmq()*"])


COUNTS_WHAT_IS_LEFT = """
    import gc, os, threading
    import pytest

    FOLDERS = []

    @pytest.fixture(autouse=True)
    def noted(request):
        yield
        for broker in request.node.funcargs.values():
            settings = getattr(broker, "_settings", None)
            FOLDERS.append(getattr(settings, "data_folder", None))

    def pytest_sessionfinish(session):
        gc.collect()
        links = []
        for name in os.listdir("/proc/self/fd"):
            try:
                links.append(os.readlink(f"/proc/self/fd/{name}"))
            except OSError:  # the folder itself
                pass
        left = {
            "threads": [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()],
            "sockets": [link for link in links if link.startswith("socket:")],
            "files": [link for link in links if "glassmq-" in link],
            "folders": [str(folder) for folder in FOLDERS if folder and os.path.exists(folder)],
            "processes": open(f"/proc/self/task/{os.getpid()}/children").read().split(),
        }
        assert any(FOLDERS)
        print("left:", {what: found for what, found in left.items() if found})
"""


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux's /proc")
def test_a_suite_leaves_no_process_thread_file_or_socket(suite, pytester):
    pytester.makeconftest(COUNTS_WHAT_IS_LEFT)
    result = suite(
        """
    import pytest

    @pytest.mark.parametrize("number", range(30))
    def test_it(glassmq, number):
        with glassmq.faults.delay("SEND_MESSAGE_V2", ms=1):
            send(glassmq.name_server_address)
        glassmq.assert_sent("orders", count=1)

    def test_another(make_glassmq, glassmq_process):
        make_glassmq()
        send(glassmq_process.name_server_address)
    """,
        "-s",
    )
    result.assert_outcomes(passed=31)
    result.stdout.fnmatch_lines(["*left: {}*"])


def test_brokers_of_many_workers_do_not_clash(suite):
    result = suite(
        """
    import pytest
    from engine.testkit import GlassMQ

    @pytest.mark.parametrize("number", range(40))
    def test_it(number):
        with GlassMQ() as glassmq:
            glassmq.create_topic("orders")
    """,
        *("-p", "xdist", "-n", "4"),
    )
    result.assert_outcomes(passed=40)


SEEDED = """
    import pytest

    RUNS = []

    @pytest.mark.glassmq_seeds
    def test_it(glassmq):
        delayed = [rule.frame for rule in glassmq.at_gate(lambda injector: injector.rules)]
        RUNS.append(delayed)
        assert "HEART_BEAT" not in delayed

    def test_unmarked(glassmq):
        print("runs:", len(RUNS))
        assert glassmq.at_gate(lambda injector: injector.rules) == ()
"""


def test_seeds_find_the_delays_that_a_failure_needs_and_one_repeats_it(suite):
    found = suite(SEEDED, "--glassmq-seeds", "50")
    found.assert_outcomes(passed=1, failed=1)
    found.stdout.fnmatch_lines(["fails under seed *", "delays that it needs:", "faults.delay('HEART_BEAT', ms=*"])
    shown = found.stdout.str()
    assert shown.count("faults.delay(") == 1
    seed = shown.partition("fails under seed ")[2].partition(";")[0]
    suite(SEEDED, "--glassmq-seed", seed).assert_outcomes(passed=1, failed=1)


def test_a_test_that_passes_under_all_seeds_passes_once(suite):
    passes = SEEDED.replace('assert "HEART_BEAT" not in delayed', "pass")
    result = suite(passes, "-s", ini="glassmq_seeds = 4")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*runs: 4*"])


def test_a_failure_that_needs_no_delay_says_so(suite):
    result = suite(SEEDED.replace('"HEART_BEAT" not in delayed', "False"), "--glassmq-seeds", "2")
    result.stdout.fnmatch_lines(["none: it fails without delays, too"])


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("--glassmq-seeds", "many", "0 to 1,000,000"),
        ("--glassmq-seed", "-1", "0 to 1,000,000"),
        ("--glassmq-record", "always", "retain-on-failure, on, off"),
        ("--glassmq-unhit-faults", "no", "fail, ignore"),
    ],
)
def test_a_wrong_value_of_an_option_is_refused_before_the_first_test(suite, option, value, allowed):
    result = suite(SEEDED, option, value)
    result.stderr.fnmatch_lines([f"ERROR: glassmq: {value!r} is no value of {option}; allowed: {allowed}"])


@pytest.mark.parametrize("parameters", ["(50)", "(seeds=50)"])
def test_parameters_of_the_marker_are_refused(suite, parameters):
    result = suite(SEEDED.replace("glassmq_seeds", f"glassmq_seeds{parameters}"))
    result.stderr.fnmatch_lines(["*::test_it: the marker glassmq_seeds has no parameters; *--glassmq-seeds N*"])
