"""``glassmq bank``: two SQLite files, a real broker, and a process that is killed in between."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.command_line import main
from app.commands.messages.bank import WAYS
from engine.bank.paying_bank import TransferVariant
from engine.broker.foundation.broker_config import BrokerConfig
from tests.support.live.live_server import LiveServer

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A broker that asks about lost transactions soon."""
    config = BrokerConfig(port=0, transaction_time_out_ms=500, transaction_check_interval_ms=500)
    with LiveServer(tmp_path_factory.mktemp("broker"), broker=config, page=False) as server:
        yield server


def arguments(server: LiveServer, folder: Path, *more: str) -> list[str]:
    return ["bank", "--folder", str(folder), "--name-server", server.name_servers[0], *more]


def run(server: LiveServer, folder: Path, *more: str):
    return CliRunner().invoke(main, arguments(server, folder, *more))


def balance(path: Path) -> int:
    """As any SQLite program sees it."""
    with closing(sqlite3.connect(path)) as database:
        ((found,),) = database.execute("SELECT balance FROM account").fetchall()
    return found


def killed(server: LiveServer, folder: Path, line_part: str) -> list[str]:
    """What a process said that was killed as soon as it said ``line_part``."""
    command = [sys.executable, "-m", "app.command_line", *arguments(server, folder, "--debit-ms", "300")]
    said = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            if line_part in line:
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL, said
    return said


def test_transfers_move_money_from_one_sqlite_file_to_the_other(server, tmp_path):
    result = run(server, tmp_path, "--transfers", "3", "--debit-ms", "0")
    assert result.exit_code == 0, result.output
    first, *_, last = result.output.splitlines()
    assert str(tmp_path / "icbc.db") in first
    assert last == "both banks agree"
    assert "A at ICBC has 70000, B at CCB has 30000: 100000 in all" in result.output
    assert result.output.count("half message stored") == 3
    assert result.output.count("END_TRANSACTION: COMMIT_MESSAGE") == 3
    assert (balance(tmp_path / "icbc.db"), balance(tmp_path / "ccb.db")) == (70_000, 30_000)


def test_killed_in_the_middle_and_run_again_both_banks_agree(server, tmp_path):
    killed(server, tmp_path, "half message stored")
    assert balance(tmp_path / "icbc.db") == 100_000, "the debit was open"
    killed(server, tmp_path, "has committed a debit")
    assert balance(tmp_path / "icbc.db") == 90_000
    result = run(server, tmp_path, "--transfers", "1", "--debit-ms", "0")
    assert result.exit_code == 0, result.output
    assert "A at ICBC has 80000, B at CCB has 20000: 100000 in all" in result.output


def test_an_overdraft_rolls_back_by_transaction_and_makes_money_naively(server, tmp_path):
    options = ("--opening", "25000", "--transfers", "3", "--debit-ms", "0")
    good = run(server, tmp_path / "good", *options)
    assert good.exit_code == 0, good.output
    assert "could not debit 10000: overdraft" in good.output
    assert "A at ICBC has 5000, B at CCB has 20000" in good.output
    # Money that came from nowhere stays: no process waits for it, and the test could not wait this long.
    naive = run(server, tmp_path / "naive", *options, "--way", "send-then-debit", "--wait-s", "3600")
    assert naive.exit_code == 1, naive.output
    assert "B has 10000 that A never paid: money from nowhere" in naive.output


def test_money_that_is_gone_does_not_make_good_for_money_from_nowhere(server, tmp_path):
    """A debit without a credit and a credit without a debit: the sums agree, the banks do not."""
    assert run(server, tmp_path, "--transfers", "0").exit_code == 0
    with closing(sqlite3.connect(tmp_path / "icbc.db")) as database, database:
        database.execute("INSERT INTO transfer VALUES ('gone', 'A', 10000, 1)")
    with closing(sqlite3.connect(tmp_path / "ccb.db")) as database, database:
        database.execute("INSERT INTO credit VALUES ('nowhere', 'B', 10000, 1, 1)")
    result = run(server, tmp_path, "--transfers", "0", "--wait-s", "0")
    assert result.exit_code == 1, result.output
    assert "10000 is still in transit from an earlier run" in result.output
    assert "B has 10000 that A never paid" in result.output


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"a b||*", b"0123abcd\n"])
def test_a_folder_with_another_bank_id_is_refused(server, tmp_path, content):
    """An empty one would subscribe to the transfers of all folders."""
    (tmp_path / "bank-id").write_bytes(content)
    result = run(server, tmp_path, "--transfers", "1")
    assert result.exit_code == 1
    assert "bank-id holds" in result.output
    assert "8 hexadecimal digits" in result.output
    assert not (tmp_path / "icbc.db").exists()


def test_what_cannot_be_is_reported_in_one_line(server, tmp_path):
    (tmp_path / "icbc.db").write_text("this is no database" * 100)
    result = run(server, tmp_path)
    assert result.exit_code == 1
    assert "icbc.db cannot be opened as a SQLite database" in result.output
    assert "Traceback" not in result.output
    nobody = CliRunner().invoke(main, ["bank", "--folder", str(tmp_path / "new"), "--name-server", "127.0.0.1:1"])
    assert nobody.exit_code == 1
    assert nobody.output.strip().splitlines()[-1].startswith("Error: ")


def test_the_ways_of_the_command_are_those_of_the_bank():
    assert list(WAYS) == list(TransferVariant)
