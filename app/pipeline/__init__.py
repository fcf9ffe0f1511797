"""Jobs of the data pipeline on the command line and on the page ``/pipeline``.

The page's jobs run in processes of their own: Spark takes a gigabyte, and its Java process must be able to end at any
moment. ``host.py`` starts and ends them, ``run_record.py`` keeps what they report, ``routes.py`` and the stream show
it.
"""
