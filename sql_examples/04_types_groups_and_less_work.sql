-- What would be asked, without asking it
EXPLAIN SELECT product_id, llm_filter('Is the buyer angry? {}', review) FROM reviews;

-- Several fields of a text at once, each of its own type
SELECT id, found.mood, found.again
FROM (SELECT id, llm_extract('What does this reviewer say? {}', review,
                             schema := '{"mood": "ENUM(''positive'', ''negative'')", "again": "BOOLEAN"}') AS found
      FROM beers ORDER BY id LIMIT 5);

-- One text about each group
SELECT category, llm_agg('What do these products have in common? {}', name, max_tokens := 20) AS common
FROM products WHERE id <= 40 GROUP BY category ORDER BY category;

-- The first three that pass: no more is asked than that takes
SELECT id, title FROM films WHERE llm_filter('Does the reviewer like this film? {}', review) LIMIT 3;

-- Two questions: the one that drops more rows for its cost is asked first, whatever the order here
SELECT id, customer FROM tickets
WHERE llm_filter('Is this a support ticket? {}', text) AND llm_classify('What is it about? {}', text,
      choices := ['billing', 'delivery', 'account', 'technical']) = 'billing'
ORDER BY id LIMIT 5;

-- A whole row, whose fields may come in any order
SELECT id, llm_score('Is this good value, 1 to 5? {}', products, lo := 1, hi := 5, field_order := 'free') AS value
FROM products WHERE id <= 20 ORDER BY value DESC, id LIMIT 5;
