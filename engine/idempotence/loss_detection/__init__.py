"""Finding what was lost, while it is consumed: producers number their messages, and readers look at the numbers.

``loss_detector`` is the interceptor of a consumer; it writes a ``reader_report``: which numbers this one reader has
met, and where (``number_book``, kept as bits: ``number_set``). ``judge`` puts the reports of all readers together and
says what is missing, what is there twice and what is out of order. RocketMQ has nothing of the kind.

What can be claimed, as numbers are given per producer and topic, and not per queue
(:mod:`engine.client.producer.message_numbering`):

- one queue: *order* and *copies*. The numbers of a producer ascend in it, with gaps that mean nothing.
- one member: the same. What it has not met, another may have.
- all members together: *gaps*. What is missing between numbers that all of them have met was lost, or was never stored
  (the producer's ledger tells), or lies at a place that none of them reports: these places are counted.
"""
