"""The job ``delivery-audit``: every message that producers numbered, against what is stored and what was consumed.

::

    messages ── per task ──> summaries of queues ── driver ──> book of numbers ──> lost, duplicated, out of order, late
    messages ─┐
    trace    ─┴─ by unique id ──> facts of consumption ── driver ──> per group: missing, twice, failed, latency

Exact, and in little memory: numbers are kept as bits, and stretches without gaps as nothing at all
(:mod:`~engine.pipeline.jobs.delivery_audit.number_set`).
"""
