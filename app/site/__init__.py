"""The site without a server: lessons and lab as files, and the same application in a worker of the browser."""
