"""HTTP only: routes, wire models, problem details, negotiation, documentation."""
