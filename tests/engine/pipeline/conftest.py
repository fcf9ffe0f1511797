"""Spark for the tests of the pipeline."""

from tests.support.pipeline.spark import spark  # noqa: F401 (a fixture: pytest looks for it here)
