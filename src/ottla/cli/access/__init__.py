"""How commands reach clusters and nodes: options, properties of clients, configuration files."""
