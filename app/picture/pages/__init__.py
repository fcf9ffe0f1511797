"""The schema of the pages of lessons, of Spark's jobs, and of the storage laboratory."""
