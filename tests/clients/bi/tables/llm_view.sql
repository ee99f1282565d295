-- What every connection of the llm checks makes first.
CREATE OR REPLACE VIEW answered AS SELECT id, llm('Sum up {note}', note) AS answer FROM orders WHERE id <= 15;
