import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A member of a group that reads and commits until its input has a line, and says what it did; see harness/group_load.py. */
public final class Reader implements ConsumerRebalanceListener {
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final String topic;
    /** What was read and not committed, and where a commit was refused. */
    private final Map<TopicPartition, Long> due = new HashMap<>();

    private Reader(String bootstrap, String group, String topic) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", group);
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        // A few commits a second, rather than hundreds of which each has a line.
        settings.put("fetch.min.bytes", "1000000");
        settings.put("fetch.max.wait.ms", "200");
        settings.put("request.timeout.ms", "5000");
        settings.put("default.api.timeout.ms", "10000");
        settings.put("reconnect.backoff.max.ms", "200");
        settings.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer.RangeAssignor");
        this.topic = topic;
        consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    public static void main(String[] args) throws Exception {
        new Reader(args[0], args[1], args[2]).run();
        Runtime.getRuntime().halt(0);
    }

    private void run() throws Exception {
        consumer.subscribe(List.of(topic), this);
        while (System.in.available() == 0) {
            ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(200));
            for (TopicPartition partition : records.partitions()) {
                List<ConsumerRecord<byte[], byte[]>> part = records.records(partition);
                long first = part.get(0).offset();
                long next = first;
                for (ConsumerRecord<byte[], byte[]> one : part) {
                    if (one.offset() != next) {
                        say("gap", partition.partition(), next, one.offset());
                    }
                    next = one.offset() + 1;
                }
                say("read", partition.partition(), first, next);
                due.put(partition, next);
            }
            Map<TopicPartition, Long> now = Map.copyOf(due);
            due.clear();
            now.forEach(this::commit);
        }
        consumer.close();
    }

    private void commit(TopicPartition partition, long next) {
        say("committing", partition.partition(), next, next);
        try {
            consumer.commitSync(Map.of(partition, new OffsetAndMetadata(next)));
            say("committed", partition.partition(), next, next);
        } catch (CommitFailedException | RebalanceInProgressException | RetriableException refused) {
            // Another member has the partition, or nobody coordinates now.
            System.out.println("refused " + refused);
            due.put(partition, next);
        }
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        partitions.forEach(one -> say("revoked", one.partition(), 0, 0));
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        due.clear();
        partitions.forEach(one -> say("assigned", one.partition(), 0, 0));
    }

    private static void say(String what, int partition, long first, long next) {
        System.out.println(what + " " + System.nanoTime() + " " + partition + " " + first + " " + next);
        System.out.flush();
    }
}
