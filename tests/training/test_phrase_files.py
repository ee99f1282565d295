"""Lists of phrases in text files: to the letter, in order; a faulty file is told with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from training.phrase_files import Phrases

TEXT = "%% Sizes.\n== BIG\nlarge\n [the] {col} \n\n# of {rows}\nlarge\n== SWAPS: b\nx\n== SWAPS: a\ny\nz\n"


def module(folder: Path, text: str) -> str:
    (folder / "words.txt").write_text(text, encoding="utf-8")
    return str(folder / "words.py")


def test_lists_keep_their_phrases_to_the_letter_and_in_order(tmp_path: Path) -> None:
    phrases = Phrases(module(tmp_path, TEXT))
    assert phrases["BIG"] == ("large", " [the] {col} ", "# of {rows}", "large")
    assert list(phrases.group("SWAPS").items()) == [("b", ("x",)), ("a", ("y", "z"))]


@pytest.mark.parametrize(
    ("text", "line"), [("large\n== BIG\n", 1), ("== BIG\nlarge\n== BIG\nhuge\n", 3)], ids=["no list", "twice"]
)
def test_a_faulty_file_is_told_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(ValueError, match=rf"words\.txt, line {line}: "):
        Phrases(module(tmp_path, text))
