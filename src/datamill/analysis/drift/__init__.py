"""Whether a response depends on when trials ran."""
