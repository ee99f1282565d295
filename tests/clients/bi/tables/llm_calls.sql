-- The statements of the llm checks. Their columns are texts and whole numbers, which read the same in every client.
-- name: llm
SELECT id, llm('Sum up {note}', note) AS answer FROM orders WHERE id <= 25 ORDER BY id;
-- name: filter
SELECT id FROM orders WHERE id <= 200 AND llm_filter('Is {note} urgent?', note) ORDER BY id;
-- name: filter_with_limit
SELECT id FROM orders WHERE llm_filter('Is {note} urgent?', note) ORDER BY id LIMIT 5;
-- name: classify_as_dimension
SELECT llm_classify('Mood of {note}?', note, choices := ['good', 'bad']) AS found, count(*) AS orders
FROM orders WHERE id <= 200 GROUP BY 1 ORDER BY 1;
-- name: score
SELECT id, llm_score('How urgent is {note}?', note, lo := 1, hi := 9)::INTEGER AS urgency FROM orders WHERE id <= 25 ORDER BY id;
-- name: extract
SELECT id, to_json(llm_extract('Read {note}', note, schema := 'STRUCT(word VARCHAR, many INTEGER)'))::VARCHAR AS found
FROM orders WHERE id <= 25 ORDER BY id;
-- name: agg
SELECT mood::VARCHAR AS mood, llm_agg('Sum up: {}', note) AS said FROM orders WHERE id <= 60 GROUP BY mood ORDER BY mood;
-- name: agg_filter
SELECT mood::VARCHAR AS mood, llm_agg('Sum up: {}', note) FILTER (WHERE amount > 5) AS said
FROM orders WHERE id <= 60 GROUP BY mood ORDER BY mood;
-- name: agg_distinct
SELECT customer_id % 3 AS part, llm_agg(DISTINCT 'Sum up: {}', upper(left(note, 6))) AS said
FROM orders WHERE id <= 60 GROUP BY part ORDER BY part;
-- name: agg_order_by
SELECT customer_id % 3 AS part, llm_agg('Sum up: {}', note ORDER BY ts DESC) AS said
FROM orders WHERE id <= 60 GROUP BY part ORDER BY part;
-- name: agg_over
SELECT id, llm_agg('Sum up: {}', note) OVER (PARTITION BY mood ORDER BY id ROWS 2 PRECEDING) AS said
FROM orders WHERE id <= 25 ORDER BY id;
-- name: agg_rollup
SELECT coalesce(mood::VARCHAR, 'all') AS mood, llm_agg('Sum up: {}', note) AS said
FROM orders WHERE id <= 60 GROUP BY ROLLUP (mood) ORDER BY 1;
-- name: joined
WITH urgent AS (SELECT id, customer_id FROM orders WHERE id <= 100 AND llm_filter('Is {note} urgent?', note))
SELECT c.name, count(*) AS many FROM urgent JOIN customers c ON c.id = customer_id GROUP BY c.name ORDER BY c.name;
-- name: nested
SELECT id, llm('Translate {}', llm('Sum up {}', note)) AS answer FROM orders WHERE id <= 12 ORDER BY id;
-- name: view
SELECT id, answer FROM answered ORDER BY id;
