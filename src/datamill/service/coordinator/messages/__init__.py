"""What workers are told and what they report, checked before it is believed."""
