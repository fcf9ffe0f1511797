"""What the broker's rooms share: settings, errors, addresses, figures."""
