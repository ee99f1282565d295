-- A text for every row
SELECT id, llm('Summarize in one short sentence: {review}', review, max_tokens := 30) AS summary
FROM reviews WHERE review IS NOT NULL ORDER BY id LIMIT 5;

-- A yes or no question as a condition
SELECT id, text FROM tickets WHERE urgent AND llm_filter('Is the customer asking for a refund? {}', text) ORDER BY id LIMIT 5;

-- One of the given choices
SELECT id, llm_classify('Sentiment of the review: {}', review, choices := ['positive', 'negative']) AS mood
FROM beers ORDER BY id LIMIT 5;

-- A number
SELECT id, stars, llm_score('How many stars does this reviewer give? {}', review, lo := 1, hi := 5) AS guess
FROM films ORDER BY id LIMIT 5;

-- What the last queries cost
SELECT function, rows, distinct_prompts, output_tokens, seconds FROM llm_queries() ORDER BY started DESC LIMIT 4;
