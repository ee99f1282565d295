-- The ten film queries of the benchmark SemBench (arXiv 2511.01716), over the shipped films. Its reviews of one film are
-- here the reviews of one genre.

-- 1. Five reviews that are clearly positive: no more is asked than that takes
SELECT id, review FROM films WHERE llm_filter('Is this film review clearly positive? {}', review) LIMIT 5;

-- 2. Five positive reviews of one film
SELECT id, review FROM films
WHERE genre = 'Crime' AND llm_filter('Is this film review clearly positive? {}', review) LIMIT 5;

-- 3. How many reviews of one film are positive
SELECT count(*) AS positive FROM films
WHERE genre = 'Crime' AND llm_filter('Is this film review clearly positive? {}', review);

-- 4. Their share of all reviews
SELECT avg(llm_filter('Is this film review clearly positive? {}', review)::INT) AS share
FROM films WHERE genre = 'Crime';

-- 5. Ten pairs of reviews of one film with the same sentiment
SELECT a.id, b.id FROM films a JOIN films b
ON a.genre = b.genre AND a.id < b.id
AND llm_filter('Do {a} and {b} express the same sentiment about a film?', a.review, b.review)
WHERE a.genre = 'Crime' LIMIT 10;

-- 6. Ten pairs with opposite sentiments
SELECT a.id, b.id FROM films a JOIN films b
ON a.genre = b.genre AND a.id < b.id
AND llm_filter('Do {a} and {b} express opposite sentiments about a film?', a.review, b.review)
WHERE a.genre = 'Crime' LIMIT 10;

-- 7. All such pairs, of the older films: where many reviews fit one prompt and agree with single pairs, few prompts are enough
SELECT count(*) AS pairs FROM films a JOIN films b
ON llm_filter('Do {a} and {b} express opposite sentiments about a film?', a.review, b.review, join := 'auto')
WHERE a.year < 1980 AND b.year < 1980 AND a.id < b.id;

-- 8. How many reviews are positive, and how many negative: one question a review, where 7 asks about pairs
SELECT llm_classify('What does this film review say? {}', review, choices := ['positive', 'negative']) AS sentiment,
       count(*) AS num_reviews
FROM films WHERE genre = 'Crime' AND review IS NOT NULL GROUP BY sentiment ORDER BY sentiment;

-- 9. How much each reviewer likes the film, from 1 to 5
SELECT id, title, llm_score('How much does this reviewer like the film, 1 to 5? {}', review, lo := 1, hi := 5) AS score
FROM films WHERE genre = 'Crime' ORDER BY id;

-- 10. The films in the order of their scores
SELECT genre, round(avg(llm_score('How much does this reviewer like the film, 1 to 5? {}', review, lo := 1, hi := 5)), 2) AS score
FROM films GROUP BY genre ORDER BY score DESC NULLS LAST, genre LIMIT 5;
