-- Sixteen questions over the three real tables (amazon products, film reviews, beer reviews).
-- `benchmarks.analytics` makes the views products, reviews and beers of the tables' first rows.

-- 1. sentiment by style
SELECT style, llm_classify('Sentiment of this beer review: {}', review, choices := ['positive', 'negative']) AS mood, count(*)
FROM beers GROUP BY ALL ORDER BY ALL;

-- 2. ten recommended strong beers
SELECT id, name FROM beers
WHERE abv > 6 AND llm_filter('Does the reviewer like this beer? {}', review) LIMIT 10;

-- 3. products by department (few categories, many products)
SELECT llm_classify('Which department sells {}?', category, choices := ['electronics', 'home', 'office', 'other']) AS department,
       count(*), round(avg(rating), 2)
FROM products GROUP BY ALL ORDER BY ALL;

-- 4. complaints about cheap products
SELECT id FROM products
WHERE llm_filter('Is this review negative? {}', review) AND price < 500 ORDER BY id;

-- 5. films for children: the same film has many reviews
SELECT film, count(*) FROM reviews
WHERE llm_filter('Is this film for children? {}', about) GROUP BY film ORDER BY film;

-- 6. average rating by film
SELECT film, round(avg(llm_score('Rate the film from 1 to 5: {}', review, lo := 1, hi := 5)), 2) AS stars
FROM reviews GROUP BY film ORDER BY film;

-- 7. two questions of which the second leaves few
SELECT id FROM beers
WHERE llm_filter('Is this a review of a beer? {}', review) AND llm_filter('Is this style a stout or a porter? {}', style)
ORDER BY id;

-- 8. the question in the list and in the condition
SELECT id, llm_classify('Mood of: {}', review, choices := ['happy', 'angry', 'neutral']) AS mood FROM reviews
WHERE llm_classify('Mood of: {}', review, choices := ['happy', 'angry', 'neutral']) <> 'neutral' ORDER BY id;

-- 9. only where the number is missing is the model asked
SELECT id, coalesce(abv, llm_score('How strong is this beer, in per cent? {} {}', style, review, lo := 0, hi := 15)) AS abv
FROM beers ORDER BY id;

-- 10. the best reviewed product of each category
SELECT category, name, llm_score('How satisfied is the buyer, 1 to 5? {}', review, lo := 1, hi := 5) AS stars
FROM products QUALIFY row_number() OVER (PARTITION BY category ORDER BY stars DESC, id) = 1 ORDER BY category;

-- 11. categories in which buyers complain
SELECT category FROM products GROUP BY category
HAVING count(*) FILTER (WHERE llm_filter('Does the buyer complain? {}', title)) > 1 ORDER BY category;

-- 12. a label joined to another table
WITH labels AS (
    SELECT DISTINCT style, llm_classify('Is {} dark or pale?', style, choices := ['dark', 'pale']) AS colour FROM beers
)
SELECT colour, count(*), round(avg(abv), 2) FROM beers JOIN labels USING (style) GROUP BY ALL ORDER BY ALL;

-- 13. five films of which a critic says something good
SELECT id, film FROM reviews
WHERE llm_filter('Is this a comedy? {}', about) AND llm_filter('Does the critic praise the film? {}', review) LIMIT 5;

-- 14. a case that asks only in one branch
SELECT id, CASE WHEN rating >= 4.2 THEN 'fine'
                ELSE llm_classify('What went wrong? {}', review, choices := ['quality', 'delivery', 'price', 'nothing']) END AS what
FROM products ORDER BY id;

-- 15. products whose title and review disagree
SELECT count(*) FROM products
WHERE llm_filter('Is this positive? {}', title) <> llm_filter('Is this positive? {}', review);

-- 16. breweries' styles of which some review is negative
SELECT DISTINCT style FROM beers b
WHERE EXISTS (FROM beers x WHERE x.style = b.style AND x.id % 3 = 0
              AND llm_filter('Is this review negative? {}', x.review)) ORDER BY style;
