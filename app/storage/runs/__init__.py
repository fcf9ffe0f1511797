"""What takes longer than a page waits: runs in a process of their own, with progress, an end on demand and a report."""
