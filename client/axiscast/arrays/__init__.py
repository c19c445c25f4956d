"""Arrays of all libraries as inputs and results of broadcasts and gradients, without IO."""
