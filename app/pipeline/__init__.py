"""Jobs of the data pipeline for people: on the command line, and on the page ``/pipeline``.

The page's jobs run in processes of their own: Spark costs a gigabyte and its Java process must be able to go at any
moment. ``host.py`` starts and ends them, ``run_record.py`` keeps what they tell, ``routes.py`` and the stream show it.
"""
