"""The lab over HTTP and Socket.IO."""
