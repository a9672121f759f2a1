import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Consume, transform, produce, as Kafka's documentation tells one to write it: copies each record to the same partition of
 * the output, and what it read to is part of the transaction. It ends when its input does.
 *
 * <p>Stepwise, it says what it sent and waits for a line before it commits: there a test can freeze it.
 */
public final class Transformer {
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final KafkaProducer<byte[], byte[]> producer;
    private final String output;
    private final boolean isStepwise;

    private Transformer(Map<String, String> options) {
        Properties reading = new Properties();
        reading.put("bootstrap.servers", options.get("bootstrap"));
        reading.put("group.id", options.get("group"));
        reading.put("enable.auto.commit", "false");
        reading.put("isolation.level", "read_committed");
        reading.put("auto.offset.reset", "earliest");
        reading.put("session.timeout.ms", options.getOrDefault("session-timeout-ms", "6000"));
        reading.put("heartbeat.interval.ms", "500");
        reading.put("max.poll.records", options.getOrDefault("batch", "20"));
        reading.put("reconnect.backoff.max.ms", "200");
        if (options.containsKey("instance")) {
            // A successor takes the partitions over at once, instead of after the session of the one that was killed.
            reading.put("group.instance.id", options.get("instance"));
        }
        consumer = new KafkaConsumer<>(reading, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        Properties writing = new Properties();
        writing.put("bootstrap.servers", options.get("bootstrap"));
        writing.put("transactional.id", options.get("transactional-id"));
        writing.put("request.timeout.ms", "5000");
        writing.put("reconnect.backoff.max.ms", "200");
        producer = new KafkaProducer<>(writing, new ByteArraySerializer(), new ByteArraySerializer());
        output = options.get("output");
        isStepwise = options.containsKey("stepwise");
        consumer.subscribe(List.of(options.get("input")));
    }

    public static void main(String[] args) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (String arg : args) {
            String[] parts = arg.split("=", 2);
            options.put(parts[0], parts.length > 1 ? parts[1] : "");
        }
        Runtime.getRuntime().halt(new Transformer(options).run());
    }

    private int run() throws Exception {
        PatientProducer.initialise(producer);
        while (isStepwise || System.in.available() == 0) {
            ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(200));
            if (records.isEmpty()) {
                continue;
            }
            try {
                transform(records);
                System.out.println("committed " + records.count());
            } catch (ProducerFencedException | InvalidProducerEpochException fenced) {
                System.out.println("fenced " + fenced.getClass().getSimpleName());
                return 3;
            } catch (KafkaException failure) {
                System.out.println("refused " + failure.getClass().getSimpleName());
                if (!PatientProducer.isAborted(producer)) {
                    return 4;
                }
                System.out.println("aborted");
                if (isStepwise) {
                    return 5;
                }
                rewind();
            }
        }
        consumer.close();
        producer.close();
        return 0;
    }

    private void transform(ConsumerRecords<byte[], byte[]> records) throws Exception {
        producer.beginTransaction();
        Map<TopicPartition, OffsetAndMetadata> read = new HashMap<>();
        for (ConsumerRecord<byte[], byte[]> record : records) {
            producer.send(new ProducerRecord<>(output, record.partition(), record.key(), record.value()));
            read.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
        }
        if (isStepwise) {
            producer.flush();
            System.out.println("sent " + records.count());
            while (System.in.read() != '\n') {
                continue;
            }
        }
        producer.sendOffsetsToTransaction(read, consumer.groupMetadata());
        PatientProducer.commit(producer);
    }

    /** An abort alone would lose the records for this process: it has read past them. */
    private void rewind() {
        PatientProducer.patiently(() -> {
            Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment());
            for (TopicPartition partition : consumer.assignment()) {
                OffsetAndMetadata offset = committed.get(partition);
                if (offset == null) {
                    consumer.seekToBeginning(List.of(partition));
                } else {
                    consumer.seek(partition, offset);
                }
            }
        });
    }
}
