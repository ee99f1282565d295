r"""What SQL texts are made of, as parts of regular expressions that read each character once.

A text comes from a user, and `re` holds Python's lock while it reads it: a part that can match the same
characters in two ways, as `(\s|/\*.*?\*/)*` can, takes twice as long with each comment, and one that could
give back what it has taken keeps 140 bytes for each character. So the parts are possessive. What is opened,
a comment or a text in dollars, and never closed reaches to the end of the text, which DuckDB refuses; else
each one that is opened would be read to the end. Comments end at the first `*/`, though DuckDB's nest.
"""

STRING = r"'(?:[^']++|'')*+'"
ESCAPED = r"[eE]'(?:[^'\\]++|\\.|'')*+'"  # with re.DOTALL, as all that have a part of it
NAME = r'"(?:[^"]++|"")*+"'
BARE = r"""[^\s(;.'"/-]++"""  # a name without quotes
DOLLARS = r"(?<![\w$])\$(?P<tag>(?:[^\W\d]\w*+)?+)\$(?:.*?\$(?P=tag)\$|.*)"
LINE_COMMENT = r"--[^\n]*+"
COMMENT = r"/\*(?:[^*]++|\*(?!/))*+\*/"
OPEN_COMMENT = r"/\*.*"
BLANKS = rf"(?:\s++|{LINE_COMMENT}|{COMMENT})*+"
LEAD = rf"(?is)\A{BLANKS}"  # a statement's first word follows
