"""Programs that must run the same under a watch (tests/training/test_watched_programs.py). Each returns its result."""
