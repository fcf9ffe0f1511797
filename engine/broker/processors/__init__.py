"""What the broker answers, request code by request code."""
