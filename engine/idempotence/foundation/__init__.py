"""Terms of idempotence: keys, records, errors, counters, and the ports to databases."""
