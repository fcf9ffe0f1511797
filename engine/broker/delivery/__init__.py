"""How messages reach consumers: checks, holding, delay, retries, dead letters."""
