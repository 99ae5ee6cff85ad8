"""Text to hashed features."""
