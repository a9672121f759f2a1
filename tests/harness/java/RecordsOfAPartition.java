import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Producing and consuming. */
final class RecordsOfAPartition {
    private static final long TIMEOUT_MS = 30_000;
    private final String bootstrap;

    RecordsOfAPartition(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    JsonNode produce(JsonNode args) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("acks", args.get("acks").asText());
        settings.put("compression.type", args.get("codec").asText());
        settings.put("enable.idempotence", args.get("idempotent").asText());
        settings.put("linger.ms", "20");
        List<Future<?>> sent = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (JsonNode record : args.get("records")) {
                RecordHeaders headers = new RecordHeaders();
                for (JsonNode header : record.get("headers")) {
                    headers.add(header.get(0).asText(), bytes(header.get(1)));
                }
                JsonNode timestamp = record.get("timestamp_ms");
                sent.add(producer.send(new ProducerRecord<>(
                    args.get("topic").asText(),
                    args.get("partition").asInt(),
                    timestamp.isNull() ? null : timestamp.asLong(),
                    bytes(record.get("key")),
                    bytes(record.get("value")),
                    headers)));
            }
            for (Future<?> future : sent) {
                future.get(TIMEOUT_MS, TimeUnit.MILLISECONDS);
            }
        }
        return Agent.JSON.nullNode();
    }

    JsonNode read(JsonNode args) {
        TopicPartition partition = partition(args);
        Properties settings = new Properties();
        settings.put("isolation.level", args.get("isolation").asText());
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(settings)) {
            consumer.assign(List.of(partition));
            consumer.seek(partition, args.get("offset").asLong());
            return take(consumer, args.get("count").asInt());
        }
    }

    JsonNode consume(JsonNode args) {
        Properties settings = new Properties();
        settings.put("group.id", args.get("group").asText());
        settings.put("auto.offset.reset", "earliest");
        settings.put("max.poll.records", args.get("count").asText());
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(settings)) {
            consumer.subscribe(List.of(args.get("topic").asText()));
            ArrayNode taken = take(consumer, args.get("count").asInt());
            consumer.commitSync();
            return taken;
        }
    }

    JsonNode offsetAt(JsonNode args) {
        TopicPartition partition = partition(args);
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(new Properties())) {
            OffsetAndTimestamp found =
                consumer.offsetsForTimes(Map.of(partition, args.get("timestamp_ms").asLong())).get(partition);
            return found == null ? Agent.JSON.nullNode() : Agent.JSON.getNodeFactory().numberNode(found.offset());
        }
    }

    private KafkaConsumer<byte[], byte[]> consumer(Properties settings) {
        settings.put("bootstrap.servers", bootstrap);
        settings.put("enable.auto.commit", "false");
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static ArrayNode take(KafkaConsumer<byte[], byte[]> consumer, int count) {
        ArrayNode taken = Agent.JSON.createArrayNode();
        long deadline = System.currentTimeMillis() + TIMEOUT_MS;
        while (taken.size() < count) {
            if (System.currentTimeMillis() > deadline) {
                throw new IllegalStateException(taken.size() + " of " + count + " records in time");
            }
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                if (taken.size() < count) {
                    taken.add(describe(record));
                }
            }
        }
        return taken;
    }

    private static ObjectNode describe(ConsumerRecord<byte[], byte[]> record) {
        ObjectNode node = Agent.JSON.createObjectNode();
        node.put("partition", record.partition());
        node.put("offset", record.offset());
        node.put("timestamp_ms", record.timestamp());
        node.put("key", record.key());
        node.put("value", record.value());
        ArrayNode headers = node.putArray("headers");
        for (Header header : record.headers()) {
            headers.addArray().add(header.key()).add(header.value());
        }
        return node;
    }

    private static TopicPartition partition(JsonNode args) {
        return new TopicPartition(args.get("topic").asText(), args.get("partition").asInt());
    }

    private static byte[] bytes(JsonNode node) throws IOException {
        return node.isNull() ? null : node.binaryValue();
    }
}
