"""Every metric of a node, by what it is about; docs/reference/metrics.md is made from this.

Names come from where dashboards know them: `kafka_server_...` and the like are what Prometheus's JMX exporter makes of
Apache Kafka's own metrics with its example rules, `kafka_brokers`, `kafka_topic_...` and `kafka_consumergroup_...` are
those of kafka_exporter. What neither has is called `ottla_...`. A metric that a node cannot fill honestly is not here.
"""

from typing import Final

from ottla.metrics.definition import Metric, counter, gauge, histogram, summary
from ottla.metrics.process_samples import PROCESS

_TOPIC = "kafka_server_brokertopicmetrics"
MESSAGES_IN: Final = counter(f"{_TOPIC}_messagesin_total", "Records that producers wrote.", "topic")
BYTES_IN: Final = counter(f"{_TOPIC}_bytesin_total", "Bytes of the batches that producers wrote.", "topic")
BYTES_OUT: Final = counter(f"{_TOPIC}_bytesout_total", "Bytes of the batches that consumers were sent.", "topic")
BYTES_REJECTED: Final = counter(
    f"{_TOPIC}_bytesrejected_total", "Bytes of batches that were refused as too large.", "topic"
)
TOTAL_PRODUCE: Final = counter(
    f"{_TOPIC}_totalproducerequests_total", "Partitions that produce requests wrote to, or tried to.", "topic"
)
TOTAL_FETCH: Final = counter(f"{_TOPIC}_totalfetchrequests_total", "Partitions in answers to fetches.", "topic")
FAILED_PRODUCE: Final = counter(
    f"{_TOPIC}_failedproducerequests_total", "Partitions of produce requests that were refused.", "topic"
)
FAILED_FETCH: Final = counter(
    f"{_TOPIC}_failedfetchrequests_total", "Partitions of fetches that were refused.", "topic"
)
REPLICATION_IN: Final = counter(f"{_TOPIC}_replicationbytesin_total", "Bytes of batches that leaders sent.")
REPLICATION_OUT: Final = counter(f"{_TOPIC}_replicationbytesout_total", "Bytes of batches that followers were sent.")

_REQUEST = "kafka_network_requestmetrics"
REQUESTS: Final = counter(f"{_REQUEST}_requests_total", "Requests.", "request", "version")
ERRORS: Final = counter(
    f"{_REQUEST}_errors_total", "Error codes in answers, one for each row that has one.", "request", "error"
)
TOTAL_TIME: Final = summary(
    f"{_REQUEST}_totaltimems", "Milliseconds from a request to its answer, in the last minute or two.", "request"
)
LOCAL_TIME: Final = summary(
    f"{_REQUEST}_localtimems", "Milliseconds of work before a request is answered or waits.", "request"
)
REMOTE_TIME: Final = summary(
    f"{_REQUEST}_remotetimems", "Milliseconds that requests waited: for data, members, disks.", "request"
)
REQUEST_DURATION: Final = histogram(
    "ottla_request_duration_seconds", "Time from a request to its answer, since the start.", "request"
)
REQUESTS_WAITING: Final = gauge("ottla_requests_waiting", "Requests that wait to be answered.", "request")

CONNECTIONS: Final = gauge(
    "kafka_server_socket_server_metrics_connection_count", "Connections that are open.", "listener"
)
REJECTED: Final = counter(
    "ottla_connections_rejected_total", "Connections closed because of what the peer sent.", "reason"
)
UNREAD_BYTES: Final = gauge("ottla_unread_response_bytes", "Bytes of large answers that clients have not read yet.")
NETWORK_IDLE: Final = gauge(
    "kafka_network_socketserver_networkprocessoravgidle_percent",
    "Share of time, from 0 to 1, in which the event loop had nothing to do. Near 0 the node is overloaded.",
)
HANDLER_IDLE: Final = gauge(
    "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
    "The same: one event loop does the work of both.",
)
LOOP_CPU: Final = counter("ottla_event_loop_cpu_seconds_total", "CPU time of the event loop's thread.")
PURGATORY: Final = gauge(
    "kafka_server_delayedoperationpurgatory_purgatorysize", "Requests that wait, by kind.", "delayedOperation"
)
DELAYED: Final = gauge(
    "kafka_server_delayedoperationpurgatory_numdelayedoperations", "The same number.", "delayedOperation"
)
FETCH_SESSIONS: Final = gauge("kafka_server_fetchsessioncache_numincrementalfetchsessions", "Fetch sessions.")
FETCH_SESSION_PARTITIONS: Final = gauge(
    "kafka_server_fetchsessioncache_numincrementalfetchpartitionscached", "Partitions of all fetch sessions."
)
FETCH_SESSION_EVICTIONS: Final = counter(
    "kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total", "Fetch sessions that gave way to others."
)

_REPLICAS = "kafka_server_replicamanager"
PARTITION_COUNT: Final = gauge(f"{_REPLICAS}_partitioncount", "Partitions with a replica on this node.")
LEADER_COUNT: Final = gauge(f"{_REPLICAS}_leadercount", "Partitions that this node leads.")
UNDER_REPLICATED: Final = gauge(
    f"{_REPLICAS}_underreplicatedpartitions", "Led partitions with replicas that are not in sync."
)
UNDER_MIN_ISR: Final = gauge(
    f"{_REPLICAS}_underminisrpartitioncount", "Led partitions with fewer replicas in sync than min.insync.replicas."
)
AT_MIN_ISR: Final = gauge(
    f"{_REPLICAS}_atminisrpartitioncount", "Led partitions with just min.insync.replicas in sync."
)
REASSIGNING: Final = gauge(f"{_REPLICAS}_reassigningpartitions", "Led partitions that get or lose replicas.")
OFFLINE_REPLICAS: Final = gauge(f"{_REPLICAS}_offlinereplicacount", "Partitions whose log directory has failed.")
ISR_SHRINKS: Final = counter(f"{_REPLICAS}_isrshrinks_total", "How often replicas of led partitions fell out of sync.")
ISR_EXPANDS: Final = counter(f"{_REPLICAS}_isrexpands_total", "How often replicas of led partitions came into sync.")
FAILED_ISR_UPDATES: Final = counter(
    f"{_REPLICAS}_failedisrupdates_total", "Changes of in-sync sets that the controller refused, or did not answer."
)
_FETCHERS = "kafka_server_replicafetchermanager"
MAX_LAG: Final = gauge(f"{_FETCHERS}_maxlag", "Records by which the slowest followed partition is behind.", "clientId")
FAILED_PARTITIONS: Final = gauge(
    f"{_FETCHERS}_failedpartitionscount", "Partitions that are not fetched because of an error.", "clientId"
)
FETCHER_LAG: Final = gauge(
    "kafka_server_fetcherlagmetrics_consumerlag",
    "Records by which a followed partition is behind its leader's high watermark.",
    "topic",
    "partition",
)
BROKER_STATE: Final = gauge("kafka_server_kafkaserver_brokerstate", "3: the node is running.")

LOG_SIZE: Final = gauge("kafka_log_log_size", "Bytes of a partition's batches on disk.", "topic", "partition")
LOG_SEGMENTS: Final = gauge("kafka_log_log_numlogsegments", "Segments of a partition.", "topic", "partition")
LOG_START: Final = gauge("kafka_log_log_logstartoffset", "The first offset of a partition.", "topic", "partition")
LOG_END: Final = gauge("kafka_log_log_logendoffset", "The next offset of a partition.", "topic", "partition")
OFFLINE_DIRECTORIES: Final = gauge("kafka_log_logmanager_offlinelogdirectorycount", "Log directories that failed.")
DIRECTORY_OFFLINE: Final = gauge(
    "kafka_log_logmanager_logdirectoryoffline", "1 if the directory has failed, 0 if it is in use.", "logDirectory"
)
DIRECTORY_TOTAL: Final = gauge(
    "ottla_log_directory_total_bytes", "Size of the volume that a log directory is on.", "log_directory"
)
DIRECTORY_USABLE: Final = gauge(
    "ottla_log_directory_usable_bytes", "Free bytes of the volume that a log directory is on.", "log_directory"
)
PASSES: Final = counter(
    "ottla_maintenance_passes_total", "Rounds of retention, of flushes, of writing checkpoints and the like.", "pass"
)
PASS_SECONDS: Final = counter("ottla_maintenance_seconds_total", "Time that these rounds took.", "pass")
PASS_FAILURES: Final = counter("ottla_maintenance_failures_total", "Rounds that failed; the log says why.", "pass")
FLUSHES: Final = counter(
    "kafka_log_logflushstats_logflushrateandtimems_count", "Logs that flush.ms or a closed segment had synced."
)
SEGMENTS_DELETED: Final = counter("ottla_retention_segments_deleted_total", "Segments that retention deleted.")
RETENTION_HELD: Final = gauge(
    "ottla_retention_held_until_timestamp_seconds",
    "When retention by time will reach a partition that holds a record dated far in the future; others have no series.",
    "topic",
    "partition",
)

_CLEANER = "kafka_log_logcleaner"
_CLEANER_MANAGER = "kafka_log_logcleanermanager"
LOGS_COMPACTED: Final = counter("ottla_compaction_logs_total", "Passes of compaction over a log.")
COMPACTION_SECONDS: Final = counter(
    "ottla_compaction_seconds_total", "Time that these passes took, and those that failed."
)
COMPACTION_FAILURES: Final = counter(
    "ottla_compaction_failures_total", "Passes that ended early: the log changed, or the node's log says why."
)
RECOPY_PERCENT: Final = gauge(
    f"{_CLEANER}_cleaner_recopy_percent", "Bytes written by the last passes, in percent of the bytes that they cleaned."
)
CLEAN_TIME: Final = gauge(f"{_CLEANER}_max_clean_time_secs", "Seconds that the longest of the last passes took.")
BUFFER_UTILIZATION: Final = gauge(
    f"{_CLEANER}_max_buffer_utilization_percent", "How full the map of keys was in the last passes, at most."
)
COMPACTION_DELAY: Final = gauge(
    f"{_CLEANER}_max_compaction_delay_secs", "Seconds by which a log is overdue by max.compaction.lag.ms, at most."
)
DEAD_CLEANERS: Final = gauge(f"{_CLEANER}_deadthreadcount", "Cleaners that ought to run and do not.")
DIRTY_PERCENT: Final = gauge(
    f"{_CLEANER_MANAGER}_max_dirty_percent", "Bytes not compacted yet, in percent, of the log with the largest share."
)
SINCE_CLEANER_RUN: Final = gauge(
    f"{_CLEANER_MANAGER}_time_since_last_run_ms", "Milliseconds since a cleaner looked for something to do."
)
UNCLEANABLE: Final = gauge(
    f"{_CLEANER_MANAGER}_uncleanable_partitions_count",
    "Partitions that cannot be compacted; the node's log says why.",
    "logDirectory",
)
UNCLEANABLE_BYTES: Final = gauge(
    f"{_CLEANER_MANAGER}_uncleanable_bytes", "Bytes that wait for compaction in these partitions.", "logDirectory"
)

_CONTROLLER = "kafka_controller_kafkacontroller"
ACTIVE_CONTROLLER: Final = gauge(f"{_CONTROLLER}_activecontrollercount", "1 if this node is the active controller.")
ACTIVE_BROKERS: Final = gauge(f"{_CONTROLLER}_activebrokercount", "Brokers that are in service.")
FENCED_BROKERS: Final = gauge(f"{_CONTROLLER}_fencedbrokercount", "Brokers that are registered and not in service.")
GLOBAL_TOPICS: Final = gauge(f"{_CONTROLLER}_globaltopiccount", "Topics of the cluster.")
GLOBAL_PARTITIONS: Final = gauge(f"{_CONTROLLER}_globalpartitioncount", "Partitions of the cluster.")
OFFLINE_PARTITIONS: Final = gauge(f"{_CONTROLLER}_offlinepartitionscount", "Partitions that nobody serves.")
PREFERRED_IMBALANCE: Final = gauge(
    f"{_CONTROLLER}_preferredreplicaimbalancecount", "Partitions that another than their preferred leader leads."
)
LAST_APPLIED: Final = gauge(f"{_CONTROLLER}_lastappliedrecordoffset", "The newest metadata record in force here.")
LAST_COMMITTED: Final = gauge(f"{_CONTROLLER}_lastcommittedrecordoffset", "The newest committed metadata record.")
_RAFT = "kafka_server_raft_metrics"
RAFT_LEADER: Final = gauge(f"{_RAFT}_current_leader", "Who leads the metadata quorum, -1 if unknown.")
RAFT_EPOCH: Final = gauge(f"{_RAFT}_current_epoch", "Epoch of the metadata quorum.")
RAFT_HIGH_WATERMARK: Final = gauge(f"{_RAFT}_high_watermark", "Where the committed metadata log ends.")
RAFT_LOG_END: Final = gauge(f"{_RAFT}_log_end_offset", "Where this node's metadata log ends.")
RAFT_VOTERS: Final = gauge(f"{_RAFT}_number_of_voters", "Voters of the metadata quorum.")
RAFT_OBSERVERS: Final = gauge(f"{_RAFT}_number_of_observers", "Nodes that follow the quorum without a vote.")
RAFT_STATE: Final = gauge(f"{_RAFT}_current_state_info", "1 for what this node is in the quorum.", "state")

_GROUPS = "kafka_coordinator_group_groupmetadatamanager"
GROUPS: Final = gauge(f"{_GROUPS}_numgroups", "Groups.")
GROUPS_IN_STATE: Final = {
    state: gauge(f"{_GROUPS}_numgroups{state.lower()}", f"Groups that are {state}.")
    for state in ("Stable", "Empty", "PreparingRebalance", "CompletingRebalance", "Dead")
}
OFFSETS: Final = gauge(f"{_GROUPS}_numoffsets", "Committed offsets.")

TRANSACTIONAL_IDS: Final = gauge(
    "ottla_transactional_ids", "Transactional ids that this node coordinates, by state.", "state"
)
PRODUCER_IDS: Final = gauge(
    "kafka_server_replicamanager_produceridcount", "Producers whose sequences partitions of this node remember."
)
LATE_TRANSACTIONS: Final = gauge(
    "kafka_server_replicamanager_partitionswithlatetransactionscount",
    "Partitions with a transaction that should have been aborted long ago: see ottla transactions find-hanging.",
)
LONGEST_SILENCE: Final = gauge(
    "ottla_open_transaction_silence_seconds_max",
    "How long ago the last record of an open transaction was written, for the one where that is longest.",
)
STABLE_LAG: Final = gauge(
    "kafka_cluster_partition_laststableoffsetlag",
    "Records that readers of committed records do not see yet.",
    "topic",
    "partition",
)

BROKERS: Final = gauge("kafka_brokers", "Brokers of the cluster.")
BROKER_INFO: Final = gauge("kafka_broker_info", "The id of a broker, with its address.", "id", "address")
TOPIC_PARTITIONS: Final = gauge("kafka_topic_partitions", "Partitions of a topic.", "topic")
_PARTITION = "kafka_topic_partition"
CURRENT_OFFSET: Final = gauge(f"{_PARTITION}_current_offset", "Where consumers' view ends.", "topic", "partition")
OLDEST_OFFSET: Final = gauge(f"{_PARTITION}_oldest_offset", "The first offset.", "topic", "partition")
PARTITION_LEADER: Final = gauge(f"{_PARTITION}_leader", "Id of the leader, -1 for none.", "topic", "partition")
IS_PREFERRED: Final = gauge(
    f"{_PARTITION}_leader_is_preferred", "1 if the preferred replica leads.", "topic", "partition"
)
REPLICAS: Final = gauge(f"{_PARTITION}_replicas", "Replicas.", "topic", "partition")
IN_SYNC: Final = gauge(f"{_PARTITION}_in_sync_replica", "Replicas in sync.", "topic", "partition")
IS_UNDER_REPLICATED: Final = gauge(
    f"{_PARTITION}_under_replicated_partition", "1 if some replica is not in sync.", "topic", "partition"
)
_GROUP = "kafka_consumergroup"
MEMBERS: Final = gauge(f"{_GROUP}_members", "Members of a group.", "consumergroup")
GROUP_OFFSET: Final = gauge(
    f"{_GROUP}_current_offset", "The offset that a group committed.", "consumergroup", "topic", "partition"
)
GROUP_OFFSET_SUM: Final = gauge(f"{_GROUP}_current_offset_sum", "Their sum over a topic.", "consumergroup", "topic")
GROUP_LAG: Final = gauge(f"{_GROUP}_lag", "Records behind the committed offset.", "consumergroup", "topic", "partition")
GROUP_LAG_SUM: Final = gauge(f"{_GROUP}_lag_sum", "Their sum over a topic.", "consumergroup", "topic")

LEFT_OUT: Final = gauge(
    "ottla_metrics_left_out", "Partitions and offsets that are not shown one by one because they are too many.", "what"
)
SCRAPE_SECONDS: Final = gauge("ottla_scrape_duration_seconds", "How long it took to gather the metrics last time.")

SECTIONS: Final[dict[str, tuple[Metric, ...]]] = {
    "Traffic of topics": (
        MESSAGES_IN,
        BYTES_IN,
        BYTES_OUT,
        BYTES_REJECTED,
        TOTAL_PRODUCE,
        TOTAL_FETCH,
        FAILED_PRODUCE,
        FAILED_FETCH,
        REPLICATION_IN,
        REPLICATION_OUT,
    ),
    "Requests": (REQUESTS, ERRORS, TOTAL_TIME, LOCAL_TIME, REMOTE_TIME, REQUEST_DURATION, REQUESTS_WAITING),
    "Connections and load": (CONNECTIONS, REJECTED, UNREAD_BYTES, NETWORK_IDLE, HANDLER_IDLE, LOOP_CPU),
    "Waiting and fetch sessions": (
        PURGATORY,
        DELAYED,
        FETCH_SESSIONS,
        FETCH_SESSION_PARTITIONS,
        FETCH_SESSION_EVICTIONS,
    ),
    "Replicas": (
        PARTITION_COUNT,
        LEADER_COUNT,
        UNDER_REPLICATED,
        UNDER_MIN_ISR,
        AT_MIN_ISR,
        REASSIGNING,
        OFFLINE_REPLICAS,
        ISR_SHRINKS,
        ISR_EXPANDS,
        FAILED_ISR_UPDATES,
        MAX_LAG,
        FAILED_PARTITIONS,
        FETCHER_LAG,
        BROKER_STATE,
    ),
    "Logs and their directories": (
        LOG_SIZE,
        LOG_SEGMENTS,
        LOG_START,
        LOG_END,
        OFFLINE_DIRECTORIES,
        DIRECTORY_OFFLINE,
        DIRECTORY_TOTAL,
        DIRECTORY_USABLE,
        PASSES,
        PASS_SECONDS,
        PASS_FAILURES,
        FLUSHES,
        SEGMENTS_DELETED,
        RETENTION_HELD,
    ),
    "Compaction": (
        LOGS_COMPACTED,
        COMPACTION_SECONDS,
        COMPACTION_FAILURES,
        RECOPY_PERCENT,
        CLEAN_TIME,
        BUFFER_UTILIZATION,
        COMPACTION_DELAY,
        DEAD_CLEANERS,
        DIRTY_PERCENT,
        SINCE_CLEANER_RUN,
        UNCLEANABLE,
        UNCLEANABLE_BYTES,
    ),
    "Controller and quorum": (
        ACTIVE_CONTROLLER,
        ACTIVE_BROKERS,
        FENCED_BROKERS,
        GLOBAL_TOPICS,
        GLOBAL_PARTITIONS,
        OFFLINE_PARTITIONS,
        PREFERRED_IMBALANCE,
        LAST_APPLIED,
        LAST_COMMITTED,
        RAFT_LEADER,
        RAFT_EPOCH,
        RAFT_HIGH_WATERMARK,
        RAFT_LOG_END,
        RAFT_VOTERS,
        RAFT_OBSERVERS,
        RAFT_STATE,
    ),
    "Groups": (GROUPS, *GROUPS_IN_STATE.values(), OFFSETS),
    "Transactions": (TRANSACTIONAL_IDS, PRODUCER_IDS, LATE_TRANSACTIONS, LONGEST_SILENCE, STABLE_LAG),
    "As kafka_exporter names them": (
        BROKERS,
        BROKER_INFO,
        TOPIC_PARTITIONS,
        CURRENT_OFFSET,
        OLDEST_OFFSET,
        PARTITION_LEADER,
        IS_PREFERRED,
        REPLICAS,
        IN_SYNC,
        IS_UNDER_REPLICATED,
        MEMBERS,
        GROUP_OFFSET,
        GROUP_OFFSET_SUM,
        GROUP_LAG,
        GROUP_LAG_SUM,
    ),
    "The process": (*PROCESS, LEFT_OUT, SCRAPE_SECONDS),
}
