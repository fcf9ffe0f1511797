"""A partition on the disk: segments of record batches, each with a sparse index by offset and one by time."""
