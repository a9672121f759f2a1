import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A producer and a consumer with default settings, at work until the input has a line; see harness/default_clients.py. Says
 * `error` with whatever an application would have to deal with.
 */
public final class DefaultClients {
    private static final AtomicLong acknowledged = new AtomicLong();
    private static volatile boolean hasSentAll;

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0];
        String topic = args[1];
        Thread reading = new Thread(() -> read(bootstrap, topic));
        reading.start();
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        try (var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (long number = 0; System.in.available() == 0; number++) {
                producer.send(new ProducerRecord<>(topic, Long.toString(number).getBytes()), (metadata, error) -> {
                    if (error == null) {
                        System.out.println("acknowledged " + acknowledged.incrementAndGet());
                    } else {
                        System.out.println("error sending: " + error);
                    }
                });
                Thread.sleep(10);
            }
        } catch (Exception error) {
            System.out.println("error sending: " + error);
        }
        hasSentAll = true;
        reading.join();
        Runtime.getRuntime().halt(0);
    }

    private static void read(String bootstrap, String topic) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", topic + "-readers");
        settings.put("auto.offset.reset", "earliest");
        long count = 0;
        try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(topic));
            while (!hasSentAll || count < acknowledged.get()) {
                var records = consumer.poll(Duration.ofMillis(100));
                count += records.count();
                if (!records.isEmpty()) {
                    System.out.println("read " + count);
                }
            }
        } catch (Exception error) {
            System.out.println("error reading: " + error);
        }
    }
}
