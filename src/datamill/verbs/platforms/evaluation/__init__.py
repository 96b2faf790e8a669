"""What an evaluation of platforms needs beside its numbers: processes, and a folder to go on from."""
