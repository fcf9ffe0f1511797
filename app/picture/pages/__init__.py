"""The schema of single pages: lessons, articles, lists and forms of the lab, Spark's jobs, the storage laboratory."""
