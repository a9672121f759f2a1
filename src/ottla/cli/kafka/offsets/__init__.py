"""`kafka-get-offsets` and `kafka-delete-records`."""
