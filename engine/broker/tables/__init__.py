"""What the broker remembers: topics, groups, offsets, members, locks."""
