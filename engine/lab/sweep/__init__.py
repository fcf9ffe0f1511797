"""Many runs of one scenario: seeds, settings, crashes."""
