"""How fast would it run on a machine that I cannot use? (thesis 2015, chapter 7)"""
