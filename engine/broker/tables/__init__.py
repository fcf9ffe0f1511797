"""The broker's tables: topics, groups, offsets, members and locks."""
