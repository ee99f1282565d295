-- A prompt over the model's context is NULL, the others are answered
SELECT i, llm_filter('Is this good? {}', CASE WHEN i = 2 THEN repeat('beer ', 500000) ELSE 'fine beer' END) AS good
FROM range(4) t(i) ORDER BY i;

-- And it is on record
SELECT kind, count(*) AS prompts, sum(rows) AS rows FROM llm_errors() GROUP BY kind ORDER BY kind;

-- NULL stays NULL and costs nothing
SELECT count(*) AS nulls FROM reviews WHERE llm_filter('Is this good? {}', review) IS NULL AND review IS NULL;

-- Braces in data are data
SELECT llm('Repeat: {}', 'a {curly} {} text', max_tokens := 8) IS NOT NULL AS answered;
