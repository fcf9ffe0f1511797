"""The schema of what the pages show: one TypedDict for each part of a picture.

A picture is a tree of JSON that the server builds and the page draws: of the live broker
(:mod:`app.picture.live_state`) or of a lab world (:mod:`app.picture.world.world`). Views in ``app/observation`` and
``app/lab/views`` build the parts, and a test checks real pictures against the schema.

- The unit of a number is the end of its key: ``_ms``, ``_us``, ``_bytes``. A point in time is in ``_us`` of the world's
  clock: of the live broker since 1970, of a lab world since its virtual time began. ``_ms`` are durations. Offsets are
  numbers. One exception: ``done_at`` of a :class:`~app.picture.pages.lesson.StoredStep` is in seconds since 1970, as in
  the progress files that learners have.
- ``None`` (``null``) means that there is no such thing: not that it is unknown, unless the key says so.
- Text that a client chose, such as a client id, may be cut.
"""
