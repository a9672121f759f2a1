"""The documentation as a site: what mkdocs does not know of this repository."""
