"""Pictures and films of the pages, taken with a real browser by commands, never while a server answers."""
