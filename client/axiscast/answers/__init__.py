"""The responses to check, compare, translate and why requests, computed without IO."""
