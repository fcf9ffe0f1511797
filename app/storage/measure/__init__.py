"""What the disk of this machine does: reads in order and by chance, three ways to send a file, what a flush costs."""
