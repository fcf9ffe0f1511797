"""Half messages: kept, checked back, decided."""
