"""Results that were published: fixed for ever, cited, run again, and withdrawn with a reason."""
