"""A partition's life on a broker, decided without IO."""
