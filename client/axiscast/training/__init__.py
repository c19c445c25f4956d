"""Checks that run inside training code: `axiscast.watch` and the pytest plugin."""
