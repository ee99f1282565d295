"""A program of a contributor's: two functions more in FUNCTIONS, and every way in that then has them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from relserve.call import options
from relserve.call.answer_types import ChoiceAnswer

LANGUAGES = ("de", "en", "it's")
TEMPLATE = "Which language is it, it's one of three? {}"
SPEC = options.FunctionSpec(("max_tokens", "on_error", "model"), (), lambda o: ChoiceAnswer(LANGUAGES))
NEW = {"llm_language_of": SPEC, "llm_language": SPEC._replace(template=TEMPLATE)}
CALLS = {"llm_language": "text", "llm_language_of": f"'{TEMPLATE.replace(chr(39), chr(39) * 2)}', text"}


def main() -> None:
    """Print what each way in makes of them, as one JSON object."""
    options.FUNCTIONS = {**options.FUNCTIONS, **NEW}  # as if they stood there
    options.ROW_FUNCTIONS += tuple(NEW)
    import duckdb
    import pyarrow as pa

    import relserve
    from relserve import frames
    from relserve.cli.shell_install import header, start_up
    from relserve.engines.scripted import ScriptedEngine
    from relserve.errors import RelserveError

    rows = pa.table({"id": [1, 2, 3], "text": ["guten Tag", None, "hello"]})
    con = relserve.connect(engine=ScriptedEngine(), progress=False)
    con.register("messages", rows)

    def asked(sql: str) -> Any:
        try:
            return con.execute(sql).fetchall()
        except (RelserveError, duckdb.Error) as error:
            return str(error)

    mistakes = ("llm_language()", "llm_language(text, text)", "llm_language(text, lo := 1)")
    language: Any = frames.llm_language
    of: Any = frames.llm_language_of
    named = TEMPLATE.replace("{}", "{text}")
    found = {
        "sql": {
            name: asked(f"SELECT id, {name}({given}) FROM messages ORDER BY id")
            for name, given in CALLS.items()
        },
        "records": asked("SELECT function, rows, distinct_prompts, template FROM llm_queries()"),
        "explain": str(asked("EXPLAIN SELECT llm_language(text, max_tokens := 5) FROM messages")),
        "mistakes": [asked(f"SELECT {call} FROM messages") for call in mistakes],
        "filter": asked("SELECT id FROM messages WHERE llm_language(text) <> 'it is' AND id < 3"),
        "after filter": asked("SELECT distinct_prompts FROM llm_queries() ORDER BY ALL LIMIT 1"),
        "frame": language(rows, columns=["text"], engine=ScriptedEngine()).to_pylist(),
        "series": language(rows["text"], engine=ScriptedEngine()).to_pylist(),
        "frame of": of(rows, named, engine=ScriptedEngine()).to_pylist(),
        "help": [language.__doc__, of.__doc__],
        "awaited": frames.allm_language.__name__,
        "header": header("python"),
        "macros": [line for line in start_up(Path("x"), 2).splitlines() if " llm_language(" in line],
    }  # fmt: skip
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
