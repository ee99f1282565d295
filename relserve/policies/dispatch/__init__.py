"""To which of several engines a request goes: PRISM as published, the usual ways, HexGen's, and ours."""
