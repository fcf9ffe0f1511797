"""What must hold of the work that messages ask for."""
