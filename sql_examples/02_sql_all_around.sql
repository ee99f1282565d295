-- Groups by an answer
SELECT llm_classify('Sentiment of the review: {}', review, choices := ['positive', 'negative']) AS mood, count(*) AS reviews,
       round(avg(stars), 1) AS stars
FROM reviews GROUP BY mood ORDER BY mood;

-- An answer in HAVING: one question a group
SELECT style, count(*) AS beers FROM beers GROUP BY style
HAVING llm_filter('Is this a style of dark beer? {}', style) ORDER BY style;

-- A join, then a question about both sides
SELECT p.name, r.stars, llm_filter('Does this review of {} say that it is good? {}', p.name, r.review) AS good
FROM reviews r JOIN products p ON p.id = r.product_id ORDER BY r.id LIMIT 6;

-- A common table expression, answers ranked in a window
WITH scored AS (
    SELECT id, title, llm_score('How many stars does this critic give? {}', review, lo := 1, hi := 5) AS words FROM films
)
SELECT id, title, words, rank() OVER (ORDER BY words DESC, id) AS place FROM scored ORDER BY place LIMIT 5;

-- A guard: only long reviews are asked
SELECT id, CASE WHEN length(review) > 200 THEN llm('Summarize: {}', review, max_tokens := 20) END AS summary
FROM reviews ORDER BY id LIMIT 10;

-- Answers kept in a table
CREATE TEMP TABLE moods AS
SELECT id, llm_classify('Sentiment of the review: {}', review, choices := ['positive', 'negative']) AS mood FROM reviews;

-- The table is DuckDB's own
SELECT mood, count(*) AS reviews FROM moods GROUP BY mood ORDER BY mood;
