"""Runs that take longer than a page waits: in a process of their own, with progress, cancellation and a report."""
