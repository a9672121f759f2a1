"""Metrics in Prometheus's form: what one is, how a page of them is written, and how scrapers get it.

What there is to measure, whoever measures it knows: a broker, a registry.
"""
