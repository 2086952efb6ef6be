"""Networks of which most weights do not exist: masks, how they change, and what they save."""
