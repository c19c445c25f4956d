"""The verdicts of all frameworks for the same shapes."""
