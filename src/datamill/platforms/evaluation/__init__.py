"""How well strategies predict: each benchmark of a suite held out as the application (thesis 2015, 7.5)."""
