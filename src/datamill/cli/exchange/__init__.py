"""Tables from other tools, and for them."""
