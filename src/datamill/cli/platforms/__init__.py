"""`datamill platforms`: how fast would it run on a machine that I cannot use?"""
