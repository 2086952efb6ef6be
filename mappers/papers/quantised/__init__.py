"""Policies with few bits: quantisers, layers that simulate them, and actors that run on them."""
