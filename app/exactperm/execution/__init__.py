"""Worker processes: scheduling, deadlines and cancellation. Knows no HTTP and no statistics.

Imports nothing by itself: a worker, which is a module of this package, needs neither the executor nor asyncio.
"""
