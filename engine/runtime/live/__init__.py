"""The port on a real machine: sockets, files, clock, threads."""
