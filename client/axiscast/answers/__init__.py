"""The responses of check, compare, translate and why, without IO."""
