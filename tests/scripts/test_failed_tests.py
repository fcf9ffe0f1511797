"""What `make test-again` asks first: did a few tests fail, or many?"""

import json

import pytest

from scripts import failed_tests


def cached(tmp_path, monkeypatch, *names):
    file = tmp_path / "lastfailed"
    file.write_text(json.dumps(dict.fromkeys(names, True)))
    monkeypatch.setattr(failed_tests, "CACHE", file)
    return file


def test_the_names_of_what_failed_are_reported_in_order(tmp_path, monkeypatch):
    assert failed_tests.failed_tests(cached(tmp_path, monkeypatch, "b::y", "a::x")) == ["a::x", "b::y"]


@pytest.mark.parametrize(("count", "ends_with"), [(0, 1), (1, 0), (5, 0), (6, 1)])
def test_only_a_few_are_worth_a_second_run(tmp_path, monkeypatch, count, ends_with):
    cached(tmp_path, monkeypatch, *(f"t{number}" for number in range(count)))
    assert failed_tests.main(5) == ends_with


def test_a_run_that_ended_before_any_test_is_worth_none(tmp_path):
    assert failed_tests.failed_tests(tmp_path / "absent") == []
