"""Clients that we did not write, behind one contract, so that each test of the matrix is written once."""
