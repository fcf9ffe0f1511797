"""HTTP and Socket.IO: access control, and how answers and streams are sent."""
