import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.common.TopicPartition;

/** What the admin client can say of transactions, and do to them. */
final class TransactionAdministration {
    private static final JsonNode NOTHING = Agent.JSON.nullNode();
    private final Admin admin;

    TransactionAdministration(Admin admin) {
        this.admin = admin;
    }

    JsonNode list(JsonNode args) throws Exception {
        ListTransactionsOptions options = new ListTransactionsOptions();
        List<TransactionState> states = new ArrayList<>();
        args.get("states").forEach(state -> states.add(TransactionState.parse(state.asText())));
        options.filterStates(states);
        List<Long> producerIds = new ArrayList<>();
        args.get("producer_ids").forEach(id -> producerIds.add(id.asLong()));
        options.filterProducerIds(producerIds);
        options.filterOnDuration(args.get("duration_ms").asLong());
        if (!args.get("pattern").isNull()) {
            options.filterOnTransactionalIdPattern(args.get("pattern").asText());
        }
        ObjectNode found = Agent.JSON.createObjectNode();
        for (TransactionListing listing : admin.listTransactions(options).all().get()) {
            found.putObject(listing.transactionalId())
                .put("producer_id", listing.producerId())
                .put("state", listing.state().toString());
        }
        return found;
    }

    JsonNode describe(JsonNode args) throws Exception {
        TransactionDescription found =
            admin.describeTransactions(List.of(text(args, "transactional_id"))).description(text(args, "transactional_id")).get();
        ObjectNode node = Agent.JSON.createObjectNode();
        node.put("state", found.state().toString());
        node.put("producer_id", found.producerId());
        node.put("producer_epoch", found.producerEpoch());
        node.put("timeout_ms", found.transactionTimeoutMs());
        node.put("is_started", found.transactionStartTimeMs().isPresent());
        ArrayNode partitions = node.putArray("partitions");
        found.topicPartitions().stream().map(TopicPartition::toString).sorted().forEach(partitions::add);
        return node;
    }

    JsonNode producers(JsonNode args) throws Exception {
        TopicPartition partition = partition(args);
        ArrayNode producers = Agent.JSON.createArrayNode();
        for (ProducerState state :
                admin.describeProducers(List.of(partition)).partitionResult(partition).get().activeProducers()) {
            producers.addObject()
                .put("producer_id", state.producerId())
                .put("producer_epoch", state.producerEpoch())
                .put("last_sequence", state.lastSequence())
                .put("coordinator_epoch", state.coordinatorEpoch().orElse(-1))
                .put("start_offset", state.currentTransactionStartOffset().orElse(-1));
        }
        return producers;
    }

    JsonNode abort(JsonNode args) throws Exception {
        admin.abortTransaction(new AbortTransactionSpec(
            partition(args),
            args.get("producer_id").asLong(),
            (short) args.get("producer_epoch").asInt(),
            args.get("coordinator_epoch").asInt())).all().get();
        return NOTHING;
    }

    JsonNode fence(JsonNode args) throws Exception {
        admin.fenceProducers(List.of(text(args, "transactional_id"))).all().get();
        return NOTHING;
    }

    JsonNode forceTerminate(JsonNode args) throws Exception {
        admin.forceTerminateTransaction(text(args, "transactional_id")).result().get();
        return NOTHING;
    }

    private static TopicPartition partition(JsonNode args) {
        return new TopicPartition(text(args, "topic"), args.get("partition").asInt());
    }

    private static String text(JsonNode args, String field) {
        return args.get(field).asText();
    }
}
