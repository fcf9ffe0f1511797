"""What every page and command uses: JSON, texts, versions, bounds on listeners."""
