"""How this broker fetches what other brokers lead: fetchers, each with a connection and a session of its own."""
