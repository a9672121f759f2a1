import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Properties;
import java.util.Random;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Moves amounts between accounts until its input ends or it is killed, one transaction each; see harness/bank.py. Says which
 * transfers were committed and which were taken back; what it was killed in is not known to anybody but the server.
 */
public final class Teller {
    private static final String[] TOPICS = {"debits", "credits"};

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0];
        String name = args[1];
        String run = args[2];
        int width = Integer.parseInt(args[3]);
        int partitions = Integer.parseInt(args[4]);
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("transactional.id", name);
        settings.put("request.timeout.ms", "5000");
        settings.put("reconnect.backoff.max.ms", "200");
        Random chance = new Random(run.hashCode());
        KafkaProducer<byte[], byte[]> producer =
            new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        PatientProducer.initialise(producer);
        for (int number = 0; System.in.available() == 0; number++) {
            String transfer = name + "/" + run + "/" + number;
            boolean isTakenBack = number % 7 == 3;
            try {
                producer.beginTransaction();
                send(producer, transfer, width, partitions, chance);
                if (isTakenBack) {
                    producer.flush();
                    producer.abortTransaction();
                } else {
                    PatientProducer.commit(producer);
                }
                System.out.println((isTakenBack ? "aborted " : "committed ") + transfer);
            } catch (KafkaException failure) {
                // Fenced or lost for good: the one who started this program starts another.
                if (!PatientProducer.isAborted(producer)) {
                    System.out.println("failed " + failure);
                    Runtime.getRuntime().halt(3);
                }
                System.out.println("aborted " + transfer);
            }
        }
        producer.close(Duration.ZERO);
        Runtime.getRuntime().halt(0);
    }

    private static void send(
            KafkaProducer<byte[], byte[]> producer, String transfer, int width, int partitions, Random chance) {
        int first = chance.nextInt(TOPICS.length * partitions);
        int left = 0;
        for (int part = 0; part < width; part++) {
            int place = (first + part) % (TOPICS.length * partitions);
            int amount = part == width - 1 ? -left : chance.nextInt(2001) - 1000;
            left += amount;
            byte[] value = (transfer + " " + width + " " + amount).getBytes(StandardCharsets.UTF_8);
            byte[] account = ("account-" + place).getBytes(StandardCharsets.UTF_8);
            producer.send(new ProducerRecord<>(TOPICS[place % TOPICS.length], place / TOPICS.length, account, value));
        }
    }
}
