"""Half messages: storage, check-backs, and decisions."""
