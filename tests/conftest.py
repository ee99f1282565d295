"""For every test: nothing from or for the user's own answer cache; tests of the cache set their own."""

import os

os.environ["RELSERVE_ANSWER_CACHE_MB"] = "0"
