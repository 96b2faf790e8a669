"""What verbs are given: arguments, tables, bundles, versions."""
