"""A page server whose lab the test serves itself, and a browser in a lesson."""

from __future__ import annotations

import pytest

from tests.app.lab.conftest import Lab


class Learner:
    """A browser that has opened a lesson and its world."""

    def __init__(self, lab, name):
        self.name = name
        self.page = lab.browser()
        self.http = self.page.http
        assert self.http.get(f"/tutorials/{name}").status_code == 200
        self.page.open(scenario=name)

    def check(self, step, **values):
        return self.http.post(
            f"/api/lessons/{self.name}/check", json={"world": self.page.world, "step": step, **values}
        )

    def do(self, actions):
        """What the step's button does."""
        for action in actions:
            fields = dict(action)
            if "command" in fields:
                self.page.command(fields.pop("command"), fields.pop("target", ""), **fields)
            else:
                self.page.control(fields.pop("control"), **fields)
        assert not self.page.refused


@pytest.fixture
def lab():
    lab = Lab()
    yield lab
    lab.close()


@pytest.fixture
def learner(lab):
    return Learner(lab, "01-first-message")
