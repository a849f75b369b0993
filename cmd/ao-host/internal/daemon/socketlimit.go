package daemon

// maxSocketPath is the longest path of a socket in bytes: sun_path has 104 on macOS
// (sys/un.h) and 108 on Linux (unix(7)), one of them for the zero at the end. The
// smaller one is good enough for both.
const maxSocketPath = 103
