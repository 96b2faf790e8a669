"""What the kernel did for a program: its system calls, block requests, and what made them slow.

Pure: from the bytes of the kernel's trace buffers and the descriptions that it gives of them.
"""
