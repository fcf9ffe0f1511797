"""Views of banks and of the two-phase commits between them."""
