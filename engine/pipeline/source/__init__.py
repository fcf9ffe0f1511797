"""``format("rocketmq")``: topics as DataFrames, on PySpark's Python data source API."""
