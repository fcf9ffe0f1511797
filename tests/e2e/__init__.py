"""Tests in Chromium. A package for pytest's sake: one browser serves them all, and is gone before tests elsewhere."""
