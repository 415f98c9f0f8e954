"""The tables of jobs, beside those of the engine of jobs in the same database."""

from __future__ import annotations

import sqlalchemy as sa

METADATA = sa.MetaData()
_Float = sa.Double

JOBS = sa.Table(
    "ep_jobs",
    METADATA,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("owner", sa.String, nullable=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("state", sa.String, nullable=False),
    sa.Column("request_sha", sa.String, nullable=False),
    sa.Column("algorithm", sa.String, nullable=False),
    sa.Column("head", sa.Text, nullable=False),
    sa.Column("cut", sa.LargeBinary, nullable=False),
    sa.Column("tests", sa.Integer, nullable=False),
    sa.Column("chunks", sa.Integer, nullable=False),
    sa.Column("seconds", _Float, nullable=False),
    sa.Column("created", _Float, nullable=False),
    sa.Column("ended", _Float),
    sa.Column("expires", _Float),
    sa.Column("problem", sa.Text),
    sa.Column("kept", sa.BigInteger),  # bytes of its results once it has succeeded
    sa.Index("ep_jobs_by_owner", "owner", "created"),
    sa.Index("ep_jobs_by_state", "state", "owner"),
)
# The body of a request, or of a list the part of each chunk; compressed.
INPUTS = sa.Table(
    "ep_inputs",
    METADATA,
    sa.Column("job", sa.String, primary_key=True),
    sa.Column("piece", sa.Integer, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
# Idempotency keys.
KEYS = sa.Table(
    "ep_keys",
    METADATA,
    sa.Column("owner", sa.String, primary_key=True),
    sa.Column("key", sa.String, primary_key=True),
    sa.Column("request_sha", sa.String, nullable=False),
    sa.Column("job", sa.String, nullable=False),
)
# The primary key is the promise that no chunk counts twice.
PARTS = sa.Table(
    "ep_parts",
    METADATA,
    sa.Column("job", sa.String, primary_key=True),
    sa.Column("chunk", sa.Integer, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Column("tests", sa.Integer, nullable=False),
    sa.Column("host", sa.String, nullable=False),
    sa.Column("at", _Float, nullable=False),
)
RESULTS = sa.Table(
    "ep_results",
    METADATA,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("owner", sa.String, nullable=False),
    sa.Column("status", sa.Integer, nullable=False),
    sa.Column("headers", sa.Text, nullable=False),
    sa.Column("before", sa.LargeBinary, nullable=False),
    sa.Column("own", sa.LargeBinary, nullable=False),
    sa.Column("after", sa.LargeBinary, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("expires", _Float),
    sa.Index("ep_results_by_owner", "owner", "expires", "size"),
)
HOSTS = sa.Table(
    "ep_hosts",
    METADATA,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("processes", sa.Integer, nullable=False),
    sa.Column("algorithm", sa.String, nullable=False),
    sa.Column("seen", _Float, nullable=False),
)
OF_A_JOB = (INPUTS, PARTS)
