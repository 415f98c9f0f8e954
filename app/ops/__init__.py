"""Operating the service: health, request ids, security headers."""
