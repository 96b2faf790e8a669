"""What messages are made of: arguments that faces spell, phrases, mistakes, suggested names."""
