"""Worker processes: scheduling, deadlines and cancellation.

Knows neither HTTP nor statistics. The package imports nothing, because the worker module needs neither the executor
nor asyncio.
"""
