"""Programs that must run under a watch as without one (tests/test_watched_programs.py). Each returns its result."""
