"""Tables that go to other tools, and what came from them."""
