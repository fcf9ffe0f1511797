"""The worlds of browsers: stepped, rewound, watched."""
