"""Linear models of seconds by seconds: the strategies of the thesis (2015, sections 7.2 and 7.4)."""
