"""Conditions on dates and on years. Slots: {v} and {w} a date or a year, {col} the column, {p} a participle of it (`hired`)."""

from training.tiny_sql.corpus.conditions.forms import Forms

IN_YEAR = Forms(
    modifiers=(
        "with a {col} in {v}",
        "with a {col} in the year {v}",
        "with {col} in {v}",
        "whose {col} (is|was|falls|lies|lay) in [the year] {v}",
        "<where> the {col} (is|was|falls) in [the year] {v}",
        "whose {col} is from {v}",
        "with a {col} (dated|from|of) {v}",
        "with {v} as the year of the {col}",
        "<where> the year of the {col} is {v}",
        "that *have a {col} in {v}",
        "that had their {col} in {v}",
        "with a {v} {col}",
    ),
    predicates=(
        "*have a {col} in [the year] {v}",
        "*have their {col} in {v}",
        "had their {col} in {v}",
        "*have a {col} that (falls|is) in {v}",
        "*have a {v} {col}",
    ),
    keywords=("{col} {v}", "{col} in {v}", "{col} year {v}", "year of {col} {v}", "{col}: {v}"),
)
COMPARED = {
    ">": Forms(
        modifiers=(
            "with a {col} <after> {v}",
            "with {col} <after> {v}",
            "whose {col} (is|was|comes|lies|falls) <after> {v}",
            "<where> the {col} is <after> {v}",
            "whose {col} (follows|is past|is more recent than) {v}",
            "that *have a {col} <after> {v}",
            "having a {col} <after> {v}",
        ),
        predicates=(
            "*have a {col} <after> {v}",
            "*have their {col} after {v}",
            "had their {col} after {v}",
            "*have a {col} that is <after> {v}",
        ),
        keywords=("{col} after {v}", "{col} > {v}", "{col} later than {v}"),
    ),
    "<": Forms(
        modifiers=(
            "with a {col} <before> {v}",
            "with {col} <before> {v}",
            "whose {col} (is|was|comes|lies|falls) <before> {v}",
            "<where> the {col} is <before> {v}",
            "whose {col} (precedes|is older than) {v}",
            "that *have a {col} <before> {v}",
            "having a {col} <before> {v}",
        ),
        predicates=(
            "*have a {col} <before> {v}",
            "*have their {col} before {v}",
            "had their {col} before {v}",
            "*have a {col} that is <before> {v}",
        ),
        keywords=("{col} before {v}", "{col} < {v}", "{col} earlier than {v}"),
    ),
    ">=": Forms(
        modifiers=(
            "with a {col} since {v}",
            "with a {col} (on or after|from|no earlier than|not before) {v}",
            "whose {col} is (on or after|since|no earlier than|not before) {v}",
            "with a {col} of {v} or later",
            "whose {col} is {v} or later",
            "with a {col} (from|of) {v} (on|onwards)",
        ),
        predicates=("*have a {col} (since|on or after|no earlier than) {v}", "*have a {col} of {v} or later"),
        keywords=("{col} since {v}", "{col} >= {v}", "{col} from {v}", "{col} {v} or later"),
    ),
    "<=": Forms(
        modifiers=(
            "with a {col} (until|up to|on or before|no later than|by|not after) {v}",
            "whose {col} is (on or before|no later than|not after|at the latest) {v}",
            "with a {col} of {v} or earlier",
            "whose {col} is {v} or earlier",
        ),
        predicates=(
            "*have a {col} (until|on or before|no later than) {v}",
            "*have a {col} of {v} or earlier",
        ),
        keywords=("{col} until {v}", "{col} <= {v}", "{col} up to {v}", "{col} {v} or earlier"),
    ),
    "=": Forms(
        modifiers=(
            "with a {col} of {v}",
            "whose {col} (is|was|is on|was on|falls on) {v}",
            "with {col} {v}",
            "<where> the {col} (is|was) {v}",
            "with {v} as [the] {col}",
            "with a {col} on {v}",
            "that *have the {col} {v}",
            "dated {v} by {col}",
        ),
        predicates=(
            "*have a {col} of {v}",
            "*have the {col} {v}",
            "*have {v} as [their] {col}",
            "*have a {col} on {v}",
            "had their {col} on {v}",
        ),
        keywords=("{col} {v}", "{col} = {v}", "{col}: {v}", "{col} on {v}"),
    ),
}
BETWEEN = Forms(
    modifiers=(
        "with a {col} between {v} and {w}",
        "with {col} (between|from) {v} and {w}",
        "with {col} from {v} (to|until|through) {w}",
        "whose {col} (is|was|lies|falls) between {v} and {w}",
        "<where> the {col} is between {v} and {w}",
        "with a {col} (ranging from|from|in the period|in the years) {v} to {w}",
        "that *have a {col} between {v} and {w}",
    ),
    predicates=(
        "*have a {col} between {v} and {w}",
        "*have a {col} from {v} to {w}",
        "*have their {col} between {v} and {w}",
        "had their {col} between {v} and {w}",
    ),
    keywords=("{col} {v} to {w}", "{col} between {v} and {w}", "{col} from {v} to {w}", "{col} {v}-{w}"),
)
# With a participle, or with nothing where the table has one date only: {p} may be empty.
EVENT = {
    "in": Forms(
        modifiers=(
            "{p} in [the year] {v}",
            "{p} in {v}",
            "that *be {p} in {v}",
            "that were {p} in [the year] {v}",
            "which were {p} in {v}",
            "who were {p} in {v}",
            "that got {p} in {v}",
            "{p} during {v}",
            "({p} in {v})",
        ),
        predicates=(
            "were {p} in {v}",
            "*be {p} in [the year] {v}",
            "were {p} in [the year] {v}",
            "got {p} in {v}",
            "*have been {p} in {v}",
        ),
        keywords=("{p} {v}", "{p} in {v}"),
    ),
    ">": Forms(
        modifiers=(
            "{p} after {v}",
            "{p} (after|later than) {v}",
            "that *be {p} after {v}",
            "that were {p} (after|later than) {v}",
            "who were {p} after {v}",
            "which were {p} later than {v}",
        ),
        predicates=(
            "were {p} (after|later than) {v}",
            "*be {p} after {v}",
            "got {p} after {v}",
            "*have been {p} after {v}",
        ),
        keywords=("{p} after {v}", "{p} > {v}"),
    ),
    "<": Forms(
        modifiers=(
            "{p} before {v}",
            "{p} (before|prior to|earlier than) {v}",
            "that *be {p} before {v}",
            "that were {p} (before|earlier than|prior to) {v}",
            "who were {p} before {v}",
        ),
        predicates=(
            "were {p} (before|earlier than|prior to) {v}",
            "*be {p} before {v}",
            "got {p} before {v}",
            "*have been {p} before {v}",
        ),
        keywords=("{p} before {v}", "{p} < {v}"),
    ),
    ">=": Forms(
        modifiers=(
            "{p} since {v}",
            "{p} (since|on or after|in or after) {v}",
            "{p} in {v} or later",
            "that were {p} (since|in or after) {v}",
            "{p} no earlier than {v}",
            "{p} from {v} on[wards]",
        ),
        predicates=("were {p} since {v}", "*have been {p} since {v}", "were {p} in {v} or later"),
        keywords=("{p} since {v}",),
    ),
    "<=": Forms(
        modifiers=(
            "{p} (until|up to|no later than|on or before) {v}",
            "{p} in {v} or earlier",
            "that were {p} (until|no later than) {v}",
            "{p} in or before {v}",
        ),
        predicates=("were {p} (until|up to|no later than) {v}", "were {p} in {v} or earlier"),
        keywords=("{p} until {v}",),
    ),
    "=": Forms(
        modifiers=("{p} on {v}", "that were {p} on {v}", "who were {p} on {v}", "which were {p} on {v}"),
        predicates=("were {p} on {v}", "*be {p} on {v}", "got {p} on {v}"),
        keywords=("{p} {v}", "{p} on {v}"),
    ),
    "between": Forms(
        modifiers=(
            "{p} between {v} and {w}",
            "{p} from {v} to {w}",
            "that were {p} between {v} and {w}",
            "who were {p} between {v} and {w}",
            "{p} (in the years|in the period from) {v} to {w}",
        ),
        predicates=(
            "were {p} between {v} and {w}",
            "*be {p} between {v} and {w}",
            "were {p} from {v} to {w}",
            "got {p} between {v} and {w}",
        ),
        keywords=("{p} {v} to {w}", "{p} between {v} and {w}"),
    ),
}
# With a verb in the past: {p} is `joined`.
DEED = {
    sign: Forms(
        modifiers=tuple(
            f"{who} {{p}} {time}"
            for time in times
            for who in ("that", "who", "which", "(that|who) have", "having")
        ),
        predicates=tuple(f"{{p}} {time}" for time in times),
        keywords=tuple(f"{{p}} {time}" for time in times),
    )
    for sign, times in {
        "in": ("in {v}", "in [the year] {v}", "during {v}"),
        ">": ("after {v}", "(after|later than) {v}"),
        "<": ("before {v}", "(before|prior to|earlier than) {v}"),
        ">=": ("since {v}", "in {v} or later", "(on or after|no earlier than) {v}"),
        "<=": ("until {v}", "(by|no later than|on or before) {v}"),
        "=": ("on {v}",),
        "between": ("between {v} and {w}", "from {v} to {w}"),
    }.items()
}
# Of the table's only date or year, without its name.
ONLY = {
    "in": Forms(
        (
            "from {v}",
            "in {v}",
            "of {v}",
            "from [the year] {v}",
            "in [the year] {v}",
            "dated {v}",
            "dating from {v}",
        ),
        ("*be from {v}", "*be from [the year] {v}", "*date from {v}", "came out in {v}"),
        ("{v}", "{v}", "from {v}"),
        ("{v}",),
    ),
    ">": Forms(
        ("after {v}", "from after {v}", "newer than {v}", "later than {v}", "more recent than {v}"),
        ("*be newer than {v}", "*be from after {v}", "came out after {v}", "*come after {v}"),
        ("after {v}", "> {v}"),
    ),
    "<": Forms(
        ("before {v}", "from before {v}", "older than {v}", "earlier than {v}", "prior to {v}"),
        ("*be older than {v}", "*be from before {v}", "came out before {v}", "*come before {v}"),
        ("before {v}", "< {v}"),
    ),
    ">=": Forms(
        ("since {v}", "from {v} or later", "from {v} on[wards]", "not older than {v}"),
        ("*be from {v} or later", "came out in {v} or later"),
        ("since {v}", "from {v} on"),
    ),
    "<=": Forms(
        ("until {v}", "up to {v}", "from {v} or earlier", "not newer than {v}"),
        ("*be from {v} or earlier", "came out in {v} or earlier"),
        ("until {v}", "up to {v}"),
    ),
    "between": Forms(
        ("between {v} and {w}", "from {v} to {w}", "from between {v} and {w}", "from the years {v} to {w}"),
        ("*be from between {v} and {w}", "came out between {v} and {w}", "*be from {v} to {w}"),
        ("{v}-{w}", "{v} to {w}", "between {v} and {w}"),
    ),
}
