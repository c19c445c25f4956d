"""Checks of training code while it runs: the watch and the pytest plugin."""
