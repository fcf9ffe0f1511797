"""What must hold of every queue: its owner, its order, its offsets."""
