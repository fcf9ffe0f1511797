"""HTTP and Socket.IO: who may come in, how answers and streams go out."""
