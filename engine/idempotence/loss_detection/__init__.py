"""Detection of lost messages during consumption: producers number their messages, and readers check the numbers.

``loss_detector`` is an interceptor of a consumer. It writes a ``reader_report``: which numbers this reader has seen,
and where (``number_book``, stored as bits: :mod:`engine.protocol.number_set`). ``judge`` combines the reports of all
readers and finds missing numbers, duplicates and numbers out of order. RocketMQ has no such feature.

What can be concluded, as numbers are assigned per producer and topic, and not per queue
(:mod:`engine.client.producer.message_numbering`):

- one queue: *order* and *copies*. The numbers of a producer ascend in it, with gaps that mean nothing.
- one member: the same. What it has not seen, another member may have.
- all members together: *gaps*. What is missing between numbers that they have seen was lost, or was never stored (the
  producer's ledger says so), or is stored at a place that none of them reports: these places are counted.
"""
