import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.TimeoutException;

/** What a transactional producer asks its coordinator, asked again for as long as the server is away. */
final class PatientProducer {
    private PatientProducer() {}

    static void initialise(KafkaProducer<?, ?> producer) {
        patiently(producer::initTransactions);
    }

    static void commit(KafkaProducer<?, ?> producer) {
        patiently(producer::commitTransaction);
    }

    /** Whether the producer may go on; if not, it was fenced, or is lost for good. */
    static boolean isAborted(KafkaProducer<?, ?> producer) {
        try {
            patiently(producer::abortTransaction);
            return true;
        } catch (KafkaException | IllegalStateException fatal) {
            return false;
        }
    }

    static void patiently(Runnable question) {
        while (true) {
            try {
                question.run();
                return;
            } catch (TimeoutException away) {
                System.out.println("waiting for the server");
            }
        }
    }
}
