"""Helpers of the Makefile; none of them is needed once GlassMQ is installed."""
