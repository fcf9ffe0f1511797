"""The lab's implementation of the port in virtual time: loop, network and disks of a lab world."""
