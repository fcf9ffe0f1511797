"""What must hold of half messages and of money."""
