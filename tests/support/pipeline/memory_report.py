"""What a job reported, kept for a test."""

from __future__ import annotations

from collections.abc import Mapping

from engine.pipeline.jobs.report import ROWS_MAX, JobReport


class MemoryReport(JobReport):
    """Every kind of event under a name of its own."""

    def __init__(self, rows_max=ROWS_MAX):
        self.rows_max = rows_max
        self.tables = {}
        self.points = []
        self.progresses = []
        self.batches = []
        self.notes = []
        self.reached = {}
        self.latest = {}

    def progress(self, done, total, unit):
        self.progresses.append((done, total, unit))

    def table(self, name, rows, *, left_out=0):
        self.tables[name] = list(rows)

    def point(self, plot, series, x, y):
        self.points.append((plot, series, x, y))

    def offsets(self, reached, latest=None):
        self.reached, self.latest = reached, latest or self.latest

    def batch(self, progress):
        self.batches.append(progress)

    def note(self, text):
        self.notes.append(text)

    @property
    def english_notes(self):
        return [note["en"] for note in self.notes]

    def rows(self, description, name):
        """The rows of a table by the names of its columns, in English."""
        (columns,) = ([column.name for column in table.columns] for table in description.tables if table.name == name)
        english = [[cell["en"] if isinstance(cell, Mapping) else cell for cell in row] for row in self.tables[name]]
        return [dict(zip(columns, row, strict=True)) for row in english]
