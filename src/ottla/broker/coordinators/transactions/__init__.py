"""The asyncio shell around the transaction coordinator: writes its records, sends its markers, minds its deadlines."""
