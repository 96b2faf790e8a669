"""Plans of repetition and false alarms, in text, JSON and figures."""
