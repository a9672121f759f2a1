import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Producers with a transactional id, each of which is told what to do call by call. */
final class OpenTransactions implements AutoCloseable {
    private static final JsonNode NOTHING = Agent.JSON.nullNode();
    private final String bootstrap;
    private final Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();

    OpenTransactions(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    JsonNode call(String operation, JsonNode args) throws Exception {
        if (operation.equals("transactions_open")) {
            return open(args);
        }
        KafkaProducer<byte[], byte[]> producer = producers.get(args.get("producer").asText());
        switch (operation) {
            case "transactions_begin":
                producer.beginTransaction();
                return NOTHING;
            case "transactions_send":
                send(producer, args);
                return NOTHING;
            case "transactions_send_offset":
                sendOffset(producer, args);
                return NOTHING;
            case "transactions_commit":
                producer.commitTransaction();
                return NOTHING;
            case "transactions_abort":
                producer.abortTransaction();
                return NOTHING;
            case "transactions_close":
                producer.close(Duration.ZERO);
                return NOTHING;
            default: throw new IllegalArgumentException("no such operation: " + operation);
        }
    }

    private JsonNode open(JsonNode args) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("transactional.id", args.get("transactional_id").asText());
        settings.put("transaction.timeout.ms", args.get("timeout_ms").asText());
        KafkaProducer<byte[], byte[]> producer =
            new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        try {
            producer.initTransactions();
        } catch (RuntimeException refused) {
            producer.close(Duration.ZERO);
            throw refused;
        }
        String name = "producer-" + producers.size();
        producers.put(name, producer);
        return Agent.JSON.getNodeFactory().textNode(name);
    }

    private static void send(KafkaProducer<byte[], byte[]> producer, JsonNode args) throws Exception {
        List<Future<?>> sent = new ArrayList<>();
        for (JsonNode value : args.get("values")) {
            sent.add(producer.send(new ProducerRecord<>(
                args.get("topic").asText(), args.get("partition").asInt(), null, value.binaryValue())));
        }
        producer.flush();
        for (Future<?> future : sent) {
            try {
                future.get();
            } catch (ExecutionException failure) {
                throw (Exception) failure.getCause();
            }
        }
    }

    private static void sendOffset(KafkaProducer<byte[], byte[]> producer, JsonNode args) {
        TopicPartition partition = new TopicPartition(args.get("topic").asText(), args.get("partition").asInt());
        producer.sendOffsetsToTransaction(
            Map.of(partition, new OffsetAndMetadata(args.get("offset").asLong())),
            new ConsumerGroupMetadata(args.get("group").asText()));
    }

    @Override
    public void close() {
        producers.values().forEach(producer -> producer.close(Duration.ZERO));
    }
}
