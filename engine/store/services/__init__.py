"""The background services of the store: dispatch, flush, retention, check."""
