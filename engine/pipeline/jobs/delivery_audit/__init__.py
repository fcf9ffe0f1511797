"""The job ``delivery-audit``: compares every numbered message with what is stored and what was consumed.

::

    messages ── by queue ──────> summaries of producers ── driver ──> books of numbers ──> lost, duplicated, ...
    messages ─┐
    trace    ─┴─ by unique id ──> history of messages ──── driver ──> per group: missing, twice, failed, latency

Spark SQL does what concerns each message. The driver gets sets of numbers and offsets, 64 in a word; they are stored as
bits, and complete ranges as nothing at all (:mod:`engine.protocol.number_set`).
"""
