"""What a shell's user looks up before typing: names to complete, pages of the manual."""
