"""The server for clients of the Model Context Protocol: tools over one database, for agents that ask it."""
