"""What the bodies of frames say."""
