"""Which consumer of a group gets which queue."""
