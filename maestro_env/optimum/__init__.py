"""The best mapping of a problem: search with proof, certificate, table of known optima."""
