"""The controller's deciders, one module per concern.

Each is a pure function of what was asked, the image it is asked about (with every earlier decision applied, committed
or not), the time and a random source; it returns a `Decision`.
"""
