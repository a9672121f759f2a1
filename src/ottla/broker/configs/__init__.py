"""The settings of a running broker: the layers they come from, and how they are changed."""
