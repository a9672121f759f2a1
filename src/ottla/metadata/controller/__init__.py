"""The controller's deciders, one module per concern.

Each is a pure function of the request, the image (with every earlier decision applied, committed or not), the time and
a random source; it returns a `Decision`.
"""
