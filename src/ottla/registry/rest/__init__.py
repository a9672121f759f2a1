"""Confluent's REST API, on Starlette: paths, parameters and bodies in, answers and errors out.

Nothing is decided here. Starlette is used because it validates nothing by itself: answers and errors have Confluent's
shapes, also where a request makes no sense at all.
"""
