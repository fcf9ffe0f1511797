"""What tests of the page's modules share."""

from tests.support.javascript import javascript  # noqa: F401 (a fixture: pytest looks for it here)
