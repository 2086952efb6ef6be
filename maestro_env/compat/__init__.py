"""The drop-in for the MAESTRO binary."""
