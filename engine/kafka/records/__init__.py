"""Record batches: what a producer makes, a broker stores as it is, and a consumer opens."""
