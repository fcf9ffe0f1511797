"""What must hold of every message."""
