"""The schema of what a lab session sends besides its world: journal, film, comparison."""
