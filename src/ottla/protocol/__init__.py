"""The wire and the record format, sans IO: bytes in, values out, and back."""
