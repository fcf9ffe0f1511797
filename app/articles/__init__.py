"""Articles: what five articles on message queues claim, claim by claim, and where each claim runs here.

The rows are data, ``tutorials/articles/NAME.yaml``, one file per article; docs/lessons.md describes the format.
``/tutorials/articles`` lists the articles, ``/tutorials/articles/NAME`` shows one, and ``#a12`` is its row A12. The
pages need no script.
"""
