"""The folder of `states` on the path of the tests below."""
