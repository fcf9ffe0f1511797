"""What all of idempotence speaks of: keys, records, errors, counters, and the ports to databases."""
