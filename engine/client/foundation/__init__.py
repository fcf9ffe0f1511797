"""What every part of the client stands on: settings, errors, states, the tree of offsets, workers."""
