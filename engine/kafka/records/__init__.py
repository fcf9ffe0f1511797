"""Record batches: a producer encodes them, a broker stores them unchanged, and a consumer decodes them."""
