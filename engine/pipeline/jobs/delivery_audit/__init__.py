"""The job ``delivery-audit``: compares every numbered message with what is stored and what was consumed.

::

    messages ── per task ──> summaries of queues ── driver ──> book of numbers ──> lost, duplicated, out of order, late
    messages ─┐
    trace    ─┴─ by unique id ──> facts of consumption ── driver ──> per group: missing, twice, failed, latency

It is exact and needs little memory: numbers are stored as bits, and complete ranges as nothing at all
(:mod:`engine.protocol.number_set`).
"""
