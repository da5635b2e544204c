-- The same data and the same fourteen questions, relationally: what the answers of the one table are held against.
-- Money is in cents, times are texts in UTC. Each question has the indexes it wants.

-- schema

CREATE TABLE regions (id TEXT PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE countries (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, region TEXT NOT NULL REFERENCES regions
) WITHOUT ROWID;
CREATE TABLE locations (
    id TEXT PRIMARY KEY, street TEXT NOT NULL, postal_code TEXT NOT NULL, city TEXT NOT NULL,
    country TEXT NOT NULL REFERENCES countries
) WITHOUT ROWID;
CREATE TABLE departments (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, location TEXT NOT NULL REFERENCES locations,
    manager TEXT REFERENCES employees
) WITHOUT ROWID;
CREATE TABLE warehouses (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, location TEXT NOT NULL REFERENCES locations
) WITHOUT ROWID;
CREATE TABLE jobs (
    id TEXT PRIMARY KEY, title TEXT NOT NULL, min_salary INTEGER NOT NULL, max_salary INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE employees (
    id TEXT PRIMARY KEY, first_name TEXT NOT NULL, last_name TEXT NOT NULL, email TEXT NOT NULL, phone TEXT NOT NULL,
    hired TEXT NOT NULL, salary INTEGER NOT NULL, manager TEXT REFERENCES employees, warehouse TEXT REFERENCES warehouses
) WITHOUT ROWID;
CREATE TABLE job_history (
    employee TEXT NOT NULL REFERENCES employees, since TEXT NOT NULL, until TEXT,
    job TEXT NOT NULL REFERENCES jobs, department TEXT NOT NULL REFERENCES departments,
    PRIMARY KEY (employee, since)
) WITHOUT ROWID;
CREATE TABLE quotas (
    employee TEXT NOT NULL REFERENCES employees, quarter TEXT NOT NULL, amount INTEGER NOT NULL,
    PRIMARY KEY (employee, quarter)
) WITHOUT ROWID;
CREATE TABLE customers (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, country TEXT NOT NULL REFERENCES countries,
    credit_limit INTEGER NOT NULL, representative TEXT NOT NULL REFERENCES employees
) WITHOUT ROWID;
CREATE TABLE products (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, category TEXT NOT NULL, list_price INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE inventories (
    warehouse TEXT NOT NULL REFERENCES warehouses, product TEXT NOT NULL REFERENCES products,
    quantity INTEGER NOT NULL CHECK (quantity >= 0),
    PRIMARY KEY (warehouse, product)
) WITHOUT ROWID;
CREATE TABLE orders (
    number TEXT PRIMARY KEY, customer TEXT NOT NULL REFERENCES customers,
    representative TEXT NOT NULL REFERENCES employees, placed TEXT NOT NULL, status TEXT NOT NULL,
    quarter TEXT NOT NULL AS (substr(placed, 1, 4) || '-Q' || ((substr(placed, 6, 2) + 2) / 3)) STORED
) WITHOUT ROWID;
CREATE TABLE order_items (
    "order" TEXT NOT NULL REFERENCES orders, line INTEGER NOT NULL, product TEXT NOT NULL REFERENCES products,
    warehouse TEXT NOT NULL REFERENCES warehouses, quantity INTEGER NOT NULL, unit_price INTEGER NOT NULL,
    PRIMARY KEY ("order", line)
) WITHOUT ROWID;

CREATE INDEX employees_by_name ON employees (last_name, first_name);
CREATE INDEX employees_by_hire_date ON employees (hired);
CREATE INDEX employees_by_warehouse ON employees (warehouse);
CREATE INDEX jobs_by_title ON jobs (title);
CREATE INDEX job_history_by_job ON job_history (job) WHERE until IS NULL;
CREATE INDEX customers_by_representative ON customers (representative);
CREATE INDEX inventories_by_product ON inventories (product);
CREATE INDEX orders_by_customer ON orders (customer, status, placed);
CREATE INDEX orders_by_status ON orders (status, placed);
CREATE INDEX orders_by_representative ON orders (representative, placed);
CREATE INDEX orders_by_quarter ON orders (quarter, representative);
CREATE INDEX order_items_by_product ON order_items (product);

-- employee_details
SELECT 'Employee' AS kind, id, first_name || ' ' || last_name AS what, hired AS since, NULL AS until, salary AS amount
FROM employees WHERE id = :employee
UNION ALL
SELECT 'Job', department, title, since, until, NULL
FROM job_history JOIN jobs ON jobs.id = job WHERE employee = :employee
UNION ALL
SELECT 'Quota', NULL, quarter, NULL, NULL, amount FROM quotas WHERE employee = :employee
UNION ALL
SELECT 'Sales', count(DISTINCT number), quarter, NULL, NULL, sum(quantity * unit_price)
FROM orders JOIN order_items ON "order" = number
WHERE representative = :employee AND status <> 'CANCELLED' GROUP BY quarter
ORDER BY kind, since DESC, what;

-- employees_by_name
SELECT id, first_name, last_name, email FROM employees
WHERE last_name = :last_name AND (:first_name IS NULL OR first_name = :first_name)
ORDER BY first_name, id;

-- current_job
SELECT title, department, since FROM job_history JOIN jobs ON jobs.id = job
WHERE employee = :employee AND until IS NULL;

-- orders_of_customer
SELECT number, placed, status, sum(quantity * unit_price) AS total
FROM orders JOIN order_items ON "order" = number
WHERE customer = :customer AND status = :status AND placed >= :since AND placed < date(:until, '+1 day')
GROUP BY number ORDER BY placed, number;

-- orders_by_status
SELECT number, placed, customer, sum(quantity * unit_price) AS total
FROM orders JOIN order_items ON "order" = number
WHERE status = :status AND placed >= :since AND placed < date(:until, '+1 day')
GROUP BY number ORDER BY placed, number;

-- employees_hired_since
SELECT id, hired, first_name, last_name FROM employees WHERE hired >= :day ORDER BY hired, id;

-- employees_in_warehouse
SELECT id, first_name, last_name FROM employees WHERE warehouse = :warehouse ORDER BY last_name, first_name, id;

-- product_demand_and_supply
SELECT 'Inventory' AS kind, warehouse, NULL AS "order", NULL AS line, quantity
FROM inventories WHERE product = :product
UNION ALL
SELECT 'OrderItem', warehouse, "order", line, quantity FROM order_items WHERE product = :product
ORDER BY kind, "order", line, warehouse;

-- customers_of_representative
SELECT id, name, email FROM customers WHERE representative = :representative ORDER BY name, id;

-- orders_of_representative
SELECT number, placed, customer, status, sum(quantity * unit_price) AS total
FROM orders JOIN order_items ON "order" = number
WHERE representative = :representative AND placed >= :since AND placed < date(:until, '+1 day')
GROUP BY number ORDER BY placed, number;

-- employees_by_title
SELECT employees.id, last_name || ', ' || first_name AS name, job_history.since
FROM jobs
JOIN job_history ON job_history.job = jobs.id AND until IS NULL
JOIN employees ON employees.id = job_history.employee
WHERE title = :title ORDER BY name, employees.id;

-- inventory
SELECT quantity FROM inventories WHERE product = :product AND warehouse = :warehouse;

-- total_inventory
SELECT coalesce(sum(quantity), 0) AS stock FROM products LEFT JOIN inventories ON product = products.id
WHERE products.id = :product GROUP BY products.id;

-- ranking
SELECT representative, count(DISTINCT number) AS orders, sum(quantity * unit_price) AS total
FROM orders JOIN order_items ON "order" = number
WHERE quarter = :quarter AND status <> 'CANCELLED'
GROUP BY representative ORDER BY total DESC, representative DESC;
