"""What Apache's tools have in common: options, properties, errors, Java's ways of writing."""
