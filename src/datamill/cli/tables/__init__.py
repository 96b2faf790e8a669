"""What verbs on tables share: options that say what is asked, and how answers are printed."""
