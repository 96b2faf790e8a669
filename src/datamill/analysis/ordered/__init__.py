"""What the order of observations says: ranks, pairs out of order, a test of normality."""
