"""Pure: which of many settings is best on a phone, found with few processes; and which one suits a whole fleet."""
