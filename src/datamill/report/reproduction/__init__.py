"""Whether a result was reproduced: sentences, tables, JSON and the picture."""
