"""The part that runs on the phone: a POSIX sh script, the list it is given, the journal it writes."""
