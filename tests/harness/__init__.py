"""Real servers and real clients for the tests that cross a process boundary."""
