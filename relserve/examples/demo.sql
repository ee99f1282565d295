-- Mood of product reviews: each distinct review is asked once, NULL stays NULL
SELECT id, review, stars,
       llm_classify('What is the sentiment of this review? {review}', review, choices := ['positive', 'negative']) AS mood
FROM reviews ORDER BY id LIMIT 8;

-- Stars that the words would give, beside the stars that were given
SELECT stars, count(*) AS reviews,
       round(avg(llm_score('How many stars does this reviewer give? {review}', review, lo := 1, hi := 5)), 1) AS read_from_words
FROM reviews WHERE stars IS NOT NULL GROUP BY stars ORDER BY stars;

-- Which billing tickets ask for a refund: the cheap condition goes first
SELECT id, kind, text
FROM tickets
WHERE llm_filter('Is the customer asking for a refund? {text}', text) AND kind = 'billing'
ORDER BY id LIMIT 6;

-- Sorting tickets into queues, and how often that is the queue they were in
SELECT kind, count(*) AS tickets, count(*) FILTER (
           llm_classify('Which team should handle this ticket? {text}', text,
                        choices := ['billing', 'shipping', 'technical', 'account']) = kind) AS sorted_right
FROM tickets WHERE kind IN ('billing', 'shipping', 'technical', 'account') GROUP BY kind ORDER BY kind;

-- A whole row as input, its fields by name
SELECT p.name, p.category,
       llm_classify('Which department sells this product? {name}: {description}', p,
                    choices := ['electronics', 'kitchen', 'clothing', 'shoes', 'office']) AS department
FROM products p WHERE p.category IN ('electronics', 'kitchen', 'clothing', 'shoes', 'office') ORDER BY p.id LIMIT 6;

-- Genre of films from their plots
SELECT title, genre,
       llm_classify('What is the genre of this film? {plot}', plot,
                    choices := ['Animation', 'Western', 'Horror', 'Comedy', 'Musical', 'Romance']) AS guess
FROM films WHERE genre IN ('Animation', 'Western', 'Horror', 'Comedy', 'Musical', 'Romance') ORDER BY id LIMIT 8;

-- Pulling a field out of free text, word for word: what is not in the text is NULL
SELECT id, llm_quote('What is the order number in this ticket? {text}', text) AS order_number, text
FROM tickets WHERE regexp_matches(text, 'order [A-Z]+-[0-9]+') ORDER BY id LIMIT 5;
