"""Which rows of a filter the large model must answer, where a cheap proxy has given each a probability."""
