"""A network: its layers mapped, chosen, totalled."""
