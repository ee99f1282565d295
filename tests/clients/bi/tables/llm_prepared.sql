-- The prepared statements of the llm checks: parameters are whole numbers, and texts that begin with a quote mark.
-- name: parameter_row_limit
-- with: 12
SELECT id, llm('Sum up {note}', note) AS answer FROM orders WHERE id <= $1 ORDER BY id;
-- name: parameter_template
-- with: 'Is {} short?' 12
SELECT id, llm($1, note) AS answer FROM orders WHERE id <= $2 ORDER BY id;
-- name: parameter_filter
-- with: 'note %' 80
SELECT id FROM orders WHERE note LIKE $1 AND id <= $2 AND llm_filter('Is {note} urgent?', note) ORDER BY id;
-- name: parameter_value
-- with: 'a text of mine'
SELECT llm('Sum up {}', $1) AS answer;
-- name: parameter_agg
-- with: 60
SELECT mood::VARCHAR AS mood, llm_agg('Sum up: {}', note) AS said FROM orders WHERE id <= $1 GROUP BY mood ORDER BY mood;
