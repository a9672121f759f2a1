import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A member that polls in a thread of its own until it is closed. */
final class GroupMember implements ConsumerRebalanceListener {
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final Thread thread;
    private volatile boolean closing;
    private volatile int revocations;
    private volatile Set<TopicPartition> assignment = Set.of();

    GroupMember(String bootstrap, JsonNode args) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("group.id", args.get("group").asText());
        settings.put("heartbeat.interval.ms", args.get("heartbeat_interval_ms").asText());
        settings.put("session.timeout.ms", args.get("session_timeout_ms").asText());
        settings.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer."
            + (args.get("cooperative").asBoolean() ? "CooperativeStickyAssignor" : "RangeAssignor"));
        if (!args.get("instance_id").isNull()) {
            settings.put("group.instance.id", args.get("instance_id").asText());
        }
        consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        consumer.subscribe(List.of(args.get("topic").asText()), this);
        thread = new Thread(this::poll);
        thread.setDaemon(true);
        thread.start();
    }

    private void poll() {
        while (!closing) {
            consumer.poll(Duration.ofMillis(100));
            assignment = consumer.assignment();
        }
        consumer.close();
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        if (!partitions.isEmpty()) {
            revocations++;
        }
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
    }

    JsonNode look() {
        ObjectNode node = Agent.JSON.createObjectNode();
        node.put("revocations", revocations);
        var partitions = node.putArray("assignment");
        assignment.forEach(part -> partitions.add(part.partition()));
        return node;
    }

    void close() throws InterruptedException {
        closing = true;
        thread.join();
    }
}
