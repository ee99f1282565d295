-- A question in FROM: its SQL is written, checked by DuckDB, and runs in the question's place
FROM text2sql('How many beers are there for each style?');

-- Its rows are like any other's: name the columns, join, group, limit
SELECT genre, n, round(100 * n / sum(n) OVER ()) AS percent
FROM text2sql('How many films are there for each genre?') AS t(genre, n) ORDER BY n DESC, genre LIMIT 5;

-- Kept as a table; a view keeps the SQL itself
CREATE OR REPLACE TEMP TABLE cheapest AS FROM text2sql('What are the names of the 3 products with the lowest price?');

-- The SQL alone, for each row of a table of questions: all of them together, one relQuery a stage
SELECT q, text2sql_query(q) AS sql
FROM (VALUES ('How many tickets are urgent?'), ('What is the average price of products?')) asked(q) ORDER BY q;

-- What was asked, and what each question took
SELECT question, sql, calls, round(seconds, 1) AS seconds FROM llm_workflows();

-- The stages that asked the model
SELECT stage, calls, cached_answers, prompt_tokens, output_tokens FROM llm_steps();
