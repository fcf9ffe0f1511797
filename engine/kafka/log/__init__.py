"""A partition on disk: segments of record batches, each with a sparse index by offset and one by time."""
