"""One proof of an optimum, and many of them."""
