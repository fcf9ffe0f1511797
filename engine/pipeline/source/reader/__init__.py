"""Reading: ranges of queues are planned, pulled and decoded."""
