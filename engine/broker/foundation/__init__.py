"""The broker's shared foundations: settings, errors, addresses, statistics."""
