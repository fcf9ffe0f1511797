"""Turns a client that is not to be had into a skipped test. A pytest plugin: ``conftest.py`` imports its hook."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.interop.harness.installs import ClientUnavailable


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A client that its registry does not give is a skip with that reason, wherever it was asked for."""
    if call.excinfo is not None and isinstance(call.excinfo.value, ClientUnavailable):
        skipped = pytest.skip.Exception(str(call.excinfo.value), _use_item_location=True)
        call.excinfo = pytest.ExceptionInfo.from_exception(skipped.with_traceback(call.excinfo.tb))
    return (yield)
