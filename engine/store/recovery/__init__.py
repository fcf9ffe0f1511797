"""Opening a store again after a normal shutdown or a crash."""
