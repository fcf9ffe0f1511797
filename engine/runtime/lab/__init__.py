"""The port in virtual time: loop, network, disks of a lab world."""
