"""The live page's engine: its thread, its state, its routes."""
