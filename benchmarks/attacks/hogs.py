"""SQL that wants all time, all memory, all disk or all depth; none of it reads or writes anything else."""

from __future__ import annotations


def _doubling(levels: int, source: str) -> str:
    steps = "".join(f", a{i} AS (SELECT s || s AS s FROM a{i - 1})" for i in range(1, levels + 1))
    return f"WITH a0 AS ({source}){steps} SELECT max(length(s)) FROM a{levels}"


HOGS = {
    "endless recursion": (
        "WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM r) SELECT count(*) FROM r"
    ),
    "endless recursion of one row": "WITH RECURSIVE r AS (SELECT 1 UNION ALL FROM r) SELECT count(*) FROM r",
    "recursion that doubles rows": (
        "WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM r, range(2)) SELECT max(a) FROM r"
    ),
    "recursion that doubles a text": (
        "WITH RECURSIVE r AS (SELECT 'x' AS s UNION ALL SELECT s || s FROM r) SELECT max(len(s)) FROM r"
    ),
    "recursion over a million rows": (
        "WITH RECURSIVE r AS (SELECT n FROM million UNION SELECT n + 1000000 FROM r) SELECT max(n) FROM r"
    ),
    "a million rows squared": "SELECT count(*) FROM million a, million b WHERE (a.n + b.n) % 7 = 1",
    "a million rows cubed": "SELECT sum(a.n * b.n * c.n) FROM million a, million b, million c",
    "squared and sorted": "SELECT a.n FROM million a, million b ORDER BY hash(a.n + b.n) LIMIT 900000000",
    "squared and grouped": "SELECT count(*) FROM (SELECT a.n, b.n x FROM million a, million b GROUP BY ALL)",
    "squared and distinct": "SELECT count(DISTINCT (a.n, b.n)) FROM million a, million b",
    "squared in a window": "SELECT sum(a.n) OVER (ORDER BY b.n) AS x FROM million a, million b LIMIT 5",
    "a join on inequality": "SELECT count(*) FROM million a JOIN million b ON a.n < b.n",
    "correlated counts": "SELECT sum((SELECT count(*) FROM million b WHERE b.n % 7 < a.n)) FROM million a",
    "all rows of a cross join": "SELECT a.n, b.n FROM million a, million b",
    "a long range": "SELECT sum(hash(range)) FROM range(1000000000000)",
    "a long series": "SELECT max(md5(x::VARCHAR)) FROM generate_series(1, 1000000000000) t(x)",
    "a long series of seconds": (
        "SELECT count(*) FROM generate_series(TIMESTAMP '0001-01-01', TIMESTAMP '9999-01-01', "
        "INTERVAL 1 SECOND) t(x) WHERE year(x) = 1"
    ),
    "a list of everything": "SELECT list(range) FROM range(1000000000)",
    "a text of everything": "SELECT length(string_agg(md5(range::VARCHAR), '')) FROM range(1000000000)",
    "a histogram of everything": "SELECT histogram(range) FROM range(1000000000)",
    "an exact quantile of everything": "SELECT quantile_disc(hash(range), 0.5) FROM range(1000000000)",
    "sorting all": "SELECT range FROM range(1000000000) ORDER BY hash(range) LIMIT 900000000",
    "sorting wide": (
        "SELECT max(s) FROM (SELECT repeat('x', 999) || range AS s FROM range(50000000) ORDER BY hash(s) "
        "LIMIT 40000000)"
    ),
    "grouping all": "SELECT count(*) FROM (SELECT range, count(*) FROM range(1000000000) GROUP BY 1)",
    "one long text": "SELECT length(repeat('a', 1000000000))",
    "many long texts": "SELECT sum(length(repeat('x' || n, 1000000))) FROM million",
    "long texts of long texts": "SELECT repeat(repeat(repeat('x', 1000), 1000), 1000)",
    "a long text by an alias": "SELECT repeat(s, 5000) FROM (SELECT repeat('x', 5000) AS s)",
    "a length from a column": "SELECT max(length(repeat('x', n))) FROM million",
    "a length from a query": "SELECT repeat('x', (SELECT 1000000000))",
    "a length from a cast": "SELECT repeat('x', '1000000000'::BIGINT)",
    "a doubled text": _doubling(40, "SELECT 'x' AS s"),
    "many doubled texts": _doubling(20, "SELECT 'x' || n AS s FROM million"),
    "wide padding": "SELECT lpad('x', 1000000000, 'y')",
    "wide padding on the right": "SELECT rpad(name, 2000000000, 'y') FROM beers",
    "a wide number": "SELECT printf('%1000000000d', 1)",
    "a wide number by an argument": "SELECT printf('%*d', 1000000000, 1)",
    "a wide format": "SELECT format('{:>1000000000}', 'x')",
    "a wide format by an argument": "SELECT format('{:>{}}', 'x', 1000000000)",
    "a wide bar": "SELECT bar(1, 0, 1, 1000000000)",
    "a long list": "SELECT len(range(1000000000))",
    "long lists": "SELECT sum(len(range(n))) FROM million",
    "a resized list": "SELECT list_resize([1], 1000000000, 1)",
    "a long bitstring": "SELECT bitstring('1', 1000000000)",
    "many bins": "SELECT equi_width_bins(0, 1000000000, 1000000000, false)",
    "a loop in one value": (
        "SELECT list_sum(list_transform(range(100000), lambda x: list_sum(list_transform(range(10000), "
        "lambda y: x * y))))"
    ),
    "a comprehension": "SELECT [x * y FOR x IN [1, 2] FOR y IN [1, 2]]",
    "a reduction": "SELECT list_reduce(range(10000), lambda x, y: x + y)",
    "texts compared": "SELECT levenshtein(repeat(name, 5000), repeat(name, 5000)) FROM beers",
    "texts of the table compared": (
        "SELECT max(damerau_levenshtein(a.name, b.name)) FROM beers a, beers b, million"
    ),
    "a regular expression": (
        "SELECT count(*) FROM million WHERE regexp_matches(repeat('a', 9999) || n, '(a|a)*(a*)*(a+)+b{900}$')"
    ),
    "a large regular expression": "SELECT regexp_matches(name, '((((a{100}){100}){100}){100})') FROM beers",
    "a slow replacement": (
        "SELECT sum(length(regexp_replace(repeat('a', 9999) || n, '(a*)*', 'xx', 'g'))) FROM million"
    ),
    "10,000 parentheses": "SELECT " + "(" * 9_900 + "1" + ")" * 9_900,
    "20,000 parentheses": "SELECT " + "(" * 20_000 + "1" + ")" * 20_000,
    "10,000 brackets": "SELECT " + "[" * 9_900 + "]" * 9_900,
    "a thousand queries in one another": "SELECT * FROM " + "(SELECT * FROM " * 1_000 + "beers" + ")" * 1_000,
    "200 queries in one another": "SELECT " + "(SELECT " * 200 + "1" + ")" * 200,
    "a thousand types in one another": "SELECT NULL::INT" + "[]" * 5_000,
    "10,000 NOT": "SELECT " + "NOT " * 4_900 + "true",
    "brackets that nobody closes": "SELECT " + "(" * 4_000,
    "40 brackets that nobody closes": "SELECT * FROM " + "(SELECT * FROM " * 40,
    "WITH in WITH that nobody closes": "WITH a AS (" * 12,
    "WITH in WITH": "WITH a AS (" * 12 + "SELECT 1" + ") SELECT 1" * 12,
    "WITH in WITH with a mistake": "WITH a AS (" * 12 + "SELECT 1 1" + ")" * 12,
    "a chain of names": "SELECT a" + ".a" * 9_000,
    "a chain of additions": "SELECT 1" + " + 1" * 4_900,
    "a chain of unions": "SELECT 1" + " UNION ALL SELECT 1" * 1_000,
    "a chain of joins": "SELECT count(*) FROM beers" + ", beers" * 2_000,
    "a chain of CASE": "SELECT " + "CASE WHEN true THEN " * 300 + "1" + " END" * 300,
    "10,000 values": "SELECT name FROM beers WHERE score IN (" + ", ".join(["1"] * 6_000) + ")",
    "10 MB of text": f"SELECT '{'x' * 10_000_000}'",
    "10 MB of comments": f"SELECT 1 /* {'x' * 10_000_000} */",
    "10 MB of blanks": "SELECT 1" + " " * 10_000_000,
    "10 MB of names": f'SELECT "{"x" * 10_000_000}" FROM beers',
    "65,536 groupings": "SELECT count(*) FROM beers GROUP BY CUBE ("
    + ", ".join(f"score + {i}" for i in range(16))
    + ")",
    "a deep recursion of macros": "SELECT again(1)",
    "a deep JSON": "SELECT ('[' || repeat('[', 9999))::JSON",
    "random until never": (
        "WITH RECURSIVE r AS (SELECT 0.5 AS x UNION ALL SELECT random() FROM r WHERE x < 1) "
        "SELECT count(*) FROM r"
    ),
}
