"""Tables written for other tools: Go's benchmark format, and columns with the types that they had."""
