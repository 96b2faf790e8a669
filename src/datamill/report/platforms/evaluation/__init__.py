"""What an evaluation of strategies says: sentences, tables, JSON, and the figures of chapter 7."""
