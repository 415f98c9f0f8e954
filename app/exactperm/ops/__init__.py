"""Operating the service: connections, authentication, health, metrics, logs, tracing."""
