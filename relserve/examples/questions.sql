-- A question in FROM: the SQL that was found for it runs in its place
FROM text2sql('How many films are there for each genre?') AS t(genre, films) ORDER BY films DESC, genre LIMIT 6;

-- The values of a table are known by its own words
FROM text2sql('What is the average price of products in the office category?');

-- Only names that exist can be in the SQL
FROM text2sql('What are the names of the 3 beers with the highest abv?');
