"""What runs: the two servers, the clients' programs and what they need, and a program's run on a server."""
