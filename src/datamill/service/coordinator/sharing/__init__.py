"""How machines divide their time among those who wait for them: shares, turns, accounts, forecasts."""
