"""What came home of a fleet, put into the store as what is made here."""
