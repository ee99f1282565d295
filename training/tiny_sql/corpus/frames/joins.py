"""Frames over two tables that a key joins: {rows} and {row} of the first, {others} and {other} of the second.

{link} binds the rows to a condition on the other table (`from breweries in Spain`); {ocol} is one of its columns with its
noun (`brewery country`), {own} columns of the first, {far} a column of the second without its noun.
"""

from training.phrase_files import Phrases

_PHRASES = Phrases(__file__)

# Verbs that bind two tables in words; which one it is says nothing.
DONE = (
    "(made|placed|written|ordered|bought|owned|given|played|sold|run|produced|taken|sent|held|offered|hosted)"
)
DID = "(make|place|write|order|buy|own|give|play|sell|run|produce|take|send|hold|offer|get|receive|have)"
PAST = "(made|placed|wrote|ordered|bought|owned|gave|played|sold|ran|produced|took|sent|held|offered|got|received|had)"

# How the condition on the other table follows the first table's noun. {which} is the other noun with its conditions.
LINKS = (
    "of {which}",
    "of {which}",
    "from {which}",
    "for {which}",
    "by {which}",
    "belonging to {which}",
    "that belong to {which}",
    "(linked|connected|related|tied|assigned) to {which}",
    "(associated with|that go with|that come with) {which}",
    "(whose|where the) {other} {does}",
    "whose {other} {does}",
    "with (a|an) {other} that {does}",
    "that have (a|an) {other} that {does}",
    "which belong to {which}",
    "in {which}",
    "at {which}",
    "with {which}",
    f"{DONE} by {{which}}",
    f"that were {DONE} by {{which}}",
    "(working|enrolled|registered|listed|living|playing|held|shown|found|kept|sold) (in|at|for|with) {which}",
    "that (work|are|live|play|belong) (in|at|for|with|to) {which}",
)
LINKS_WITH_ONE = _PHRASES["LINKS_WITH_ONE"]
LINK_PREDICATES = (
    "belong to {which}",
    "are (linked|assigned|related) to {which}",
    "have (a|an) {other} that {does}",
    "are (from|of|for|by) {which}",
    "come from {which}",
    "go with {which}",
    f"were {DONE} by {{which}}",
    "(work|live|play|are registered) (in|at|for|with) {which}",
)
PAIRS = _PHRASES["PAIRS"]
COLUMNS = _PHRASES["COLUMNS"]
ROWS = _PHRASES["ROWS"]
WHICH = _PHRASES["WHICH"]
COUNT = (
    "<howmany> {rows} {link} <exist>?",
    "<howmany> {rows} {link} are there?",
    "<howmany> {rows} are there {link}?",
    "<howmany> {rows} do we have {link}?",
    "<howmany> {rows} {link}?",
    "<howmany> {rows} {link_do}?",
    "<howmany> of the {rows} {link_do}?",
    "<howmany> {rows} do {which} have?",
    "<howmany> {rows} do {which} have in total?",
    f"<howmany> {{rows}} did {{which}} {DID}?",
    f"<howmany> {{rows}} did the {{which_one}} {DID}?",
    f"<howmany> {{rows}} were {DONE} by {{which}}?",
    "<howmany> {rows} does the {which_one} have?",
    "<count> [the|all] {rows} {link}",
    "<count> {rows} {link}",
    "<ask> the <number> of {rows} {link}",
    "what is the <number> of {rows} {link}?",
    "number of {rows} {link}",
    "{rows} {link}: how many?",
    "{row} count {link}",
    "(tell me|do you know|I want to know) how many {rows} {link} (there are|we have)",
    "(tell me|do you know|I want to know) how many {rows} {which} have",
    "for {which}, how many {rows} are there?",
)
AGGREGATE = _PHRASES["AGGREGATE"]
# Groups by a column of the other table.
GROUP_COUNT_NAME = (
    "<howmany> {rows} does <every> {other} have?",
    f"<howmany> {{rows}} did <every> {{other}} {DID}?",
    f"<howmany> {{rows}} were {DONE} (by|in|at) <every> {{other}}?",
    "<howmany> {rows} does <every> {other} have",
    "<howmany> {rows} (are there|do we have) <per> {other}?",
    "<howmany> {rows} (belong to|are of|come from|are in) <every> {other}?",
    "<show> <every> {other} <also> the number of [its] {rows}",
    "<show> the {others} <also> the number of {rows} (of each|each has|they have)",
    "<show> the number of {rows} (of|for|per) <every> {other}",
    "<count> [the] {rows} (of|for|per) <every> {other}",
    "for <every> {other}, how many {rows} are there?",
    "for <every> {other}, <show> its {far} and the number of {rows}",
    "for <every> {other}, count the {rows}",
    "<show> the {far} of <every> {other} and the number of [its] {rows}",
    "<show> the {far} of <every> {other} <also> how many {rows} it has",
    "number of {rows} (per|by) {other}",
    "{rows} per {other}",
    "{row} count (per|by) {other}",
    "count {rows} by {other}",
    "what is the number of {rows} (of|for|per) <every> {other}?",
    "what are the {far} of the {others} and how many {rows} does each have?",
    "tally the {rows} of <every> {other}",
)
GROUP_TOP_NAME = (
    "<what> {other} has {most} {rows}?",
    "<what> {other} has {most} {rows}?",
    "<what> {other} has {most} {rows}",
    f"<what> {{other}} {PAST} {{most}} {{rows}}?",
    f"who {PAST} {{most}} {{rows}}?",
    f"<show> the {{far}} of the {{other}} that {PAST} {{most}} {{rows}}",
    "<what> is the {other} with {most} {rows}?",
    "<what> is the {far} of the {other} with {most} {rows}?",
    "<show> the {far} of the {other} (that has|with|having) {most} {rows}",
    "<show> the {other} with {most} {rows}",
    "the {other} with {most} {rows}",
    "{other} with {most} {rows}",
    "to <what> {other} do {most} {rows} belong?",
    "<what> {other} do {most} {rows} (belong to|come from|have)?",
    "(name|find) the {other} (that counts|having|with) {most} {rows}",
    "(tell me|do you know) which {other} has {most} {rows}",
    "of [all] the {others}, which has {most} {rows}?",
    "who has {most} {rows} (of|among) the {others}?",
)
GROUP_TOPS_NAME = _PHRASES["GROUP_TOPS_NAME"]
GROUP_HAVING_NAME = (
    "<what> {others} have {w} {rows}?",
    f"<what> {{others}} {PAST} {{w}} {{rows}}?",
    "<what> {others} have {w} {rows}?",
    "<what> are the {others} (with|that have) {w} {rows}?",
    "<show> [the|all] {others} (with|that have|having) {w} {rows}",
    "{others} with {w} {rows}",
    "<show> the {far} of [the|all] {others} (with|that have|having) {w} {rows}",
    "what are the {far} of the {others} (with|that have) {w} {rows}?",
    "(name|find) every {other} (with|that has) {w} {rows}",
    "for <what> {others} are there {w} {rows}?",
)
GROUP_AGGREGATE_NAME = _PHRASES["GROUP_AGGREGATE_NAME"]
OTHER_NOUNS = ("{other} {g}", "{g} of the {other}", "{other} {g}", "{other}'s {g}")
# The other table's side of the first or last row: {np} is that row (`strongest beer`).
TOP_OTHER = (
    "<what> {other} has the {np}?",
    f"<what> {{other}} {PAST} the {{np}}?",
    f"by which {{other}} was the {{np}} {DONE}?",
    f"who {PAST} the {{np}}?",
    "<what> {other} has the {np}?",
    "<what> {other} does the {np} (have|belong to|come from)?",
    "<what> is the {other} (of|with|that has) the {np}?",
    "what is the {far} of the {other} of the {np}?",
    "what is the {far} of the {other} (with|that has) the {np}?",
    "<show> the {far} of the {other} (of|with|that has) the {np}",
    "{other} (of|with) the {np}",
    "{other} {far} of the {np}",
    "to which {other} does the {np} belong?",
    "from which {other} is the {np}?",
    "(name|find) the {other} (of|with|that has) the {np}",
    "(tell me|do you know) which {other} has the {np}",
    "the {np}: <what> {other} does it (have|belong to)?",
    "the {np} belongs to <what> {other}?",
)
