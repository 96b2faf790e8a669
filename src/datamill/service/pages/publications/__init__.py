"""Published results, for everybody; and how one is published or withdrawn."""
