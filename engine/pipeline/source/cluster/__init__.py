"""Which cluster, who asks, how it is asked."""
