"""What real databases lock, as the command shows it; and servers that are not there."""

from __future__ import annotations

import pytest

from app.databases import real_servers as real_servers_module
from app.databases.demonstration import CASES, DemonstrationFailed, Finding, as_markdown, demonstrate
from app.databases.real_servers import MariaDbServer, PostgreSqlServer, RealRedisServer, ServerMissing
from tests.support.idempotence.store_kinds import RealServers, real_servers  # noqa: F401 (a fixture)

EXISTS, MISSING, INSERTS = CASES
DUPLICATE = {"PostgreSQL": "error 23505 (unique violation)", "MariaDB": "error 1062 (duplicate key)"}


def seen(findings: list[Finding], isolation: str, case: str) -> dict[str, str]:
    (finding,) = (each for each in findings if (each.isolation, each.case) == (isolation, case))
    return dict(finding.seen)


def test_postgresql_locks_no_missing_row(real_servers: RealServers):  # noqa: F811 (the fixture)
    findings = demonstrate("PostgreSQL", real_servers.get(PostgreSqlServer).url)
    assert len(findings) == 9
    assert findings[0].database.startswith("PostgreSQL 1")
    for isolation in ("read committed", "repeatable read", "serializable"):
        lost = "1 row" if isolation == "read committed" else "error 40001 (serialization failure)"
        assert seen(findings, isolation, EXISTS)["B select"] == f"waits, then {lost}"
        missing = seen(findings, isolation, MISSING)
        assert (missing["A select"], missing["B select"], missing["A insert"]) == ("0 rows", "0 rows", "1 row")
        assert missing["B insert"].startswith("waits, then error ")
        assert seen(findings, isolation, INSERTS) == {
            "A insert": "1 row",
            "B insert": f"waits, then {DUPLICATE['PostgreSQL']}",
            "A commit": "committed",
            "B commit": "rolled back",
        }


def test_mariadb_locks_the_gap_for_both_and_ends_one_as_the_victim_of_a_deadlock(
    real_servers: RealServers,  # noqa: F811 (the fixture)
):
    findings = demonstrate("MariaDB", real_servers.get(MariaDbServer).url)
    assert len(findings) == 6
    assert seen(findings, "repeatable read", MISSING) == {
        "A select": "0 rows",
        "B select": "0 rows",
        "A insert": "waits, then 1 row",
        "B insert": "error 1213 (deadlock)",
        "A commit": "committed",
        "B commit": "rolled back",
    }
    missing = seen(findings, "read committed", MISSING)
    assert (missing["A insert"], missing["B insert"]) == ("1 row", f"waits, then {DUPLICATE['MariaDB']}")
    for isolation in ("repeatable read", "read committed"):
        assert seen(findings, isolation, EXISTS)["B select"] == "waits, then 1 row"
        inserts = seen(findings, isolation, INSERTS)
        assert (inserts["A insert"], inserts["B insert"]) == ("1 row", f"waits, then {DUPLICATE['MariaDB']}")


def test_a_database_that_is_not_there_is_named_without_its_password():
    with pytest.raises(DemonstrationFailed, match=r"127\.0\.0\.1") as caught:
        demonstrate("MariaDB", "mariadb://me:secret@127.0.0.1:9/test")
    assert "secret" not in str(caught.value)
    with pytest.raises(DemonstrationFailed, match="there is no store pigeon"):
        demonstrate("PostgreSQL", "pigeon://me:secret@h/d")


def test_a_server_that_is_not_installed_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(real_servers_module, "find_program", lambda name: None)
    for server in (RealRedisServer, PostgreSqlServer, MariaDbServer):
        with pytest.raises(ServerMissing, match=rf"{server.name} is not installed.*Debian: {server.package}"):
            server()
    with pytest.raises(DemonstrationFailed, match="PostgreSQL is not installed"):
        demonstrate("PostgreSQL")


def test_a_server_that_does_not_start_says_why(real_servers: RealServers, monkeypatch: pytest.MonkeyPatch):  # noqa: F811
    real_servers.get(RealRedisServer)
    monkeypatch.setattr(RealRedisServer, "command", lambda self: ("redis-server", "--no-such-option"))
    with pytest.raises(ServerMissing, match=r"Redis does not start: .*no-such-option"):
        RealRedisServer()


def test_the_page_has_a_table_for_each_case():
    steps = (("A insert", "1 row"), ("B insert", "waits, then error 1062 (duplicate key)"))
    page = as_markdown([Finding("MariaDB 10.11", "read committed", INSERTS, steps)])
    assert page.endswith(
        "## Concurrent inserts of one key\n\n| database | isolation | A insert | B insert |\n|---|---|---|---|\n"
        "| MariaDB 10.11 | read committed | 1 row | waits, then error 1062 (duplicate key) |\n"
    )
