"""The same messages in both stores, in growing numbers, over a growing number of topics."""
