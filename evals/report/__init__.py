"""A suite or a run as one file to read: HTML, Markdown, CSV, Parquet."""
