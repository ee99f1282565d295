-- Keys and checks under the names that DuckDB gives them, so that the clients are told equal ones.
ALTER TABLE customers RENAME CONSTRAINT customers_pkey TO customers_id_pkey;
ALTER TABLE orders RENAME CONSTRAINT orders_pkey TO orders_id_pkey;
ALTER TABLE orders RENAME CONSTRAINT orders_customer_id_fkey TO orders_customer_id_id_fkey;
ALTER TABLE order_lines RENAME CONSTRAINT order_lines_pkey TO order_lines_order_id_line_pkey;
ALTER TABLE order_lines RENAME CONSTRAINT order_lines_order_id_fkey TO order_lines_order_id_id_fkey;
ALTER TABLE all_types RENAME CONSTRAINT all_types_pkey TO all_types_id_pkey;
