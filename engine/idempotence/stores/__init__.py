"""Where the records lie: a relational database, or Redis."""
