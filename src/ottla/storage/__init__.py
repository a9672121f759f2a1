"""One partition's log on disk, in Kafka's file formats, and the directories that hold the logs of a broker."""
