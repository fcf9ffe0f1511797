"""The live implementation of the port: sockets, files, clock, threads."""
