"""What the store does in the background: dispatch, flush, clean."""
