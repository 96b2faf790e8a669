"""Performance fingerprinting: how fast would it run on another machine? Thesis 2015, chapter 7."""
