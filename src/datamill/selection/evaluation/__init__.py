"""How well predictors do, without leaks from what they are tested on."""
