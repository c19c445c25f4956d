"""Training code: its broadcasts, watched as they happen, and a plugin that watches tests."""
